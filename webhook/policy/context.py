"""The context of a pod: everything that checks and injections read to decide about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Container as ContainerOf
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from webhook.policy.launchers.words import Launch
from webhook.policy.placement.memory import ANNOTATION, MemorySize, memory_size
from webhook.policy.placement.reachability import Placement, Reachability
from webhook.policy.placement.selector import requirement
from webhook.policy.pods.pod import RAY_ADDRESS, Container
from webhook.policy.pods.reading import Members
from webhook.policy.pods.requests import GpuRequests, ResourceRequest
from webhook.policy.rules import Rules
from webhook.policy.verdict import Edit
from webhook.policy.workloads.chosen import who_chooses
from webhook.policy.workloads.extracted import Deferral, ExtractedPod, launches_of
from webhook.policy.workloads.kinds import BUILT_IN, Kind
from webhook.policy.workloads.paths import Assembly
from webhook.policy.workloads.search import Mention
from webhook.policy.workloads.unknown import Unknown, entry
from webhook.policy.workloads.without_pods import RENDERED, is_of_kubernetes

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import RuntimeClass


class Origin:
    """The request that an object comes from.

    `is_final_hook`: the validating hook received it, so a Pod should have the edits, and steering is over.
    `is_update`: the object exists already; edits are not expected, because settings and facts may have changed since.
    `added_containers`: the names of the ephemeral containers that the request adds, the only ones to check; None if the
    whole pod is checked. `hostpath`: whether the hook's path is the one for namespaces that allow hostPath volumes;
    None if there are no two paths. `groups`: the caller's groups; None offline. `is_offline`: no request is behind it,
    the command line checks a manifest.
    """

    __slots__ = ("added_containers", "groups", "hostpath", "is_final_hook", "is_offline", "is_update", "namespace")

    def __init__(
        self,
        namespace: str,
        is_final_hook: bool = False,
        is_update: bool = False,
        added_containers: frozenset[str] | None = None,
        hostpath: bool | None = None,
        groups: tuple[str, ...] | None = None,
    ) -> None:
        self.namespace = namespace
        self.is_final_hook = is_final_hook
        self.is_update = is_update
        self.added_containers = added_containers
        self.hostpath = hostpath
        self.groups = groups
        self.is_offline = groups is None


class PodContext:
    """One pod with its origin, the rules of its namespace, and the known facts.

    `extracted` is the pod as its object holds it. `is_pod`: the object is a Pod, not a workload with a template.
    `is_checked_as_it_is`: it is a Pod in the final hook, after which no affinity reaches the scheduler. `deferral`: why
    the pod's nodes are chosen later. `memory_size`: the memory that the pod asks for by annotation, where the settings
    read it; `placement` includes its affinity. `mps_requests` holds the requests for shared resources with which the
    pod could land on an MPS node, `first_mps_requests` the first one of each container. The evaluator fills `edits`.
    """

    __slots__ = (
        "_launches",
        "deferral",
        "edits",
        "extracted",
        "facts",
        "first_mps_requests",
        "is_checked_as_it_is",
        "is_pod",
        "memory_size",
        "mps_requests",
        "origin",
        "placement",
        "pod",
        "requests",
        "rules",
    )

    def __init__(self, extracted: ExtractedPod, origin: Origin, rules: Rules) -> None:
        pod = extracted.pod
        self.extracted = extracted
        self.pod = pod
        self.is_pod = extracted.is_pod
        self.origin = origin
        self.is_checked_as_it_is = extracted.is_pod and origin.is_final_hook
        self.rules = rules
        self.deferral = self._deferral(extracted.deferral)
        self.facts = rules.facts
        self.edits: list[Edit] = []
        self._launches: tuple[tuple[Container, Launch], ...] | None = None
        self.requests = GpuRequests(pod, rules.resource)
        if rules.annotated_resource is not None and pod.annotations:
            self.requests.add_annotated(rules.annotation_requests, rules.annotated_resource)
        pod.elements("tolerations")  # reject a malformed list even where nothing reads it
        restores = origin.is_update and not origin.is_final_hook  # the mutating hook does so in each mode
        self.placement = Placement(
            pod,
            self.requests,
            rules.nodes,
            rules.tolerations(self.requests) if rules.injections.tolerations.enabled or restores else None,
            self._class_selector() if rules.nodes.index.all else {},
        )
        self.memory_size: MemorySize | None = None
        if rules.injections.memory.enabled and ANNOTATION in pod.annotations:
            size = memory_size(pod, self.placement, rules.memory_shares, extends=not self.is_checked_as_it_is)
            if size is not None and size.affinity is not None:
                self.placement.require(size.affinity.requirement())
            self.memory_size = size
        self._find_mps_requests()

    @property
    def launches(self) -> tuple[tuple[Container, Launch], ...]:
        """The launches on GPUs: of all containers in a group of pods, else of the containers that request a GPU.

        Raises MalformedError.
        """
        if self.extracted.group is not None:
            return self.extracted.launches
        if self._launches is None:
            self._launches = launches_of(self.requests.containers)
        return self._launches

    def has_own_ray(self, container: Container, launch: Launch) -> bool:
        """Whether a launch starts a Ray cluster of its own, which no other pod joins: the pod is one of a Deployment.

        Operators of other kinds may set up Ray for a pod.
        """
        lone = self.extracted.group is None and self.extracted.manifest.get("kind") == "Deployment"
        return lone and launch.own_ray and RAY_ADDRESS not in container.variables

    @property
    def expects_edits(self) -> bool:
        """Whether the mutating hook should have edited the pod already."""
        return self.is_checked_as_it_is and not self.origin.is_update

    def steer(self) -> None:
        """From now on, check the pod as if it were kept off shared GPUs."""
        self.placement.steered = True
        self._find_mps_requests()

    def leave_as_received(self) -> None:
        """From now on, check the pod without the affinity and the tolerations of any edit."""
        self.placement.steered = False
        self.placement.configured = None
        self.placement.require(requirement(self.pod))
        self._find_mps_requests()

    def is_replaced(self, value: str) -> bool:
        """Whether the kubelet, or the controller of the object, replaces a part of a text: the result is unknown."""
        return "$(" in value or ("{{" in value and self.extracted.place.renders)

    def _class_selector(self) -> Mapping[str, str]:
        """The node selector of the RuntimeClass that a pod with GPU requests names."""
        if not (self.rules.runtime_classes and self.requests.positive):
            return {}
        known = self.runtime_class(self.pod.text("runtimeClassName"))
        return {} if known is None else known.node_selector

    def _deferral(self, of_object: Deferral | None) -> Deferral | None:
        if self.pod.elements("schedulingGates"):
            return Deferral.GATED
        if of_object is Deferral.DEFAULT and not (self.origin.is_offline and self.rules.has_default_queue):
            return None  # a hook sees the label of the queue
        # A queue gates a pod at its creation, and the final hook sees whether it did.
        return None if self.is_checked_as_it_is else of_object

    def _find_mps_requests(self) -> None:
        lands = self.placement.lands
        self.mps_requests = [
            request
            for request in self.requests.positive
            if request.resource.kind == "shared" and lands(request.resource) is not Reachability.NO
        ]
        self.first_mps_requests: list[ResourceRequest] = []
        for request in self.mps_requests:
            if not self.first_mps_requests or self.first_mps_requests[-1].container is not request.container:
                self.first_mps_requests.append(request)  # the requests of a container are adjacent

    def checked_containers(self) -> Iterable[Container]:
        """All containers, ephemeral ones included; where a request only adds ephemeral containers, those."""
        ephemeral = self.checked_ephemeral_containers()
        if self.origin.added_containers is not None:
            return ephemeral
        return chain(self.pod.containers, ephemeral)

    def checked_ephemeral_containers(self) -> Iterable[Container]:
        """The ephemeral containers; where a request only adds some, those."""
        if self.pod.spec.get("ephemeralContainers") is None:
            return ()
        added = self.origin.added_containers
        ephemeral = self.pod.ephemeral_containers()
        return ephemeral if added is None else (container for container in ephemeral if container.name in added)

    def hostpath_allowed(self) -> bool | None:
        """Whether the namespace's Pod Security level allows hostPath volumes; None when unknown.

        Offline, an unknown namespace counts as one without the label.
        """
        if self.origin.hostpath is not None:
            return self.origin.hostpath
        if self.rules.namespace_labels is None and not self.origin.is_offline:
            return None
        return self.rules.allows_hostpath

    def runtime_class(self, name: str) -> RuntimeClass | None:
        """The known RuntimeClass of this name."""
        return self.rules.runtime_classes.get(name)


class ManifestObject(NamedTuple):
    """An object of a manifest, with its API group and kind."""

    manifest: Members
    group: str
    kind: str


class ObjectContext(NamedTuple):
    """An object, with all that names an amount of a GPU resource and that the checks of its pods do not read.

    `kind` is its kind, None for one without paths; `unknown` then says why no path leads to its pods. `pods` are those
    that the search found in an object of an unknown kind and that name a GPU resource. `mentions` are the amounts that
    no check of a pod reads.
    """

    held: ManifestObject
    kind: Kind | None
    unknown: Unknown | None
    pods: tuple[ExtractedPod, ...]
    mentions: tuple[Mention, ...]


class NamespaceLimits(NamedTuple):
    """A ResourceQuota or a LimitRange. `names` holds the GPU resources, `offered` those that known nodes offer."""

    held: ManifestObject
    names: ContainerOf[object]
    offered: Collection[str]

    def shares(self, name: str) -> str | None:
        """The name under which known nodes offer shares of the cards that this name stands for."""
        renamed = f"{name}.shared"
        return renamed if renamed in self.offered else None


def why_searched(held: ManifestObject, unknown: Unknown, found: ExtractedPod) -> str:
    """Why the pods of an object had to be searched for, and the setting that makes the first one known."""
    said = "a search found its pods, which the webhook in the cluster does not check"
    if unknown.cause:
        return f"{unknown.cause}: {said}"
    holds = found.place.holds
    added = None if isinstance(holds, Assembly) else entry(held.group, held.kind, found.path, holds)
    return f"unknown kind: {said}" + (f"; add {added} to workloads.paths" if added else "")


def open_amounts(held: ManifestObject, pods: Sequence[PodContext]) -> str:
    """Why the pods of an object may get GPUs for which they do not ask; empty where nothing is known."""
    chosen = None if any(one.requests.named for one in pods) else who_chooses(held.group, held.kind)
    if chosen is not None:
        return f"open: it names no GPU resource; {chosen}"
    return _CLAIMS if any(one.pod.spec.get("resourceClaims") for one in pods) else ""


_CLAIMS = "open: its resource claims, which may give it GPUs, are not checked"


def why_skipped(context: ObjectContext) -> str:
    """Why nothing of an object is checked."""
    group, kind = context.held.group, context.held.kind
    cause = "" if context.unknown is None else context.unknown.cause
    if context.mentions:
        return "skipped: nothing checks the GPU resource that it names" + (f"; {cause}" if cause else "")
    if (group, kind) in BUILT_IN:
        return "skipped: it holds no pod template"
    if (group, kind) in RENDERED:
        return f"skipped: other objects are rendered from it; check the output of {RENDERED[group, kind]}"
    chosen = who_chooses(group, kind)
    if chosen is not None:
        return f"skipped: it names no GPU resource; {chosen}"
    if context.unknown is None or (is_of_kubernetes(group) and not cause):
        return "skipped: it requests no GPU resource"
    return f"skipped: {cause or 'unknown kind'}; it names none of the configured resources"


_LONGEST_LIST = 1024
"""Characters of the annotation's value: room for every code several times. A longer value suppresses nothing."""


def suppressed_codes(context: PodContext) -> frozenset[str]:
    """The codes of the checks whose findings about the pod are suppressed.

    Codes that do not exist, and text that is no list of codes, suppress nothing: GPS018 reports them.
    """
    annotation = context.rules.suppressing_annotation
    value = None if annotation is None else context.pod.annotations.get(annotation)
    return frozenset(_listed(value)).intersection(context.rules.severities)


def unknown_codes(value: object, known: Collection[str]) -> list[object]:
    """The unknown names in a value of the annotation: each once, in the order of the value.

    A value that is no list of codes is unknown as a whole.
    """
    codes = _listed(value)
    return [code for code in dict.fromkeys(codes) if code not in known] if codes else [value]


def _listed(value: object) -> list[str]:
    """The codes of a list with commas, in upper case; none for a value that is too long or not text."""
    if not isinstance(value, str) or len(value) > _LONGEST_LIST:
        return []
    return [code.upper() for part in value.split(",") if (code := part.strip())]
