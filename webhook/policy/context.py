"""The context of a pod: everything that checks and injections read to decide about it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from webhook.policy.launchers.words import Launch
from webhook.policy.placement import platforms
from webhook.policy.placement.reachability import Placement, Reachability
from webhook.policy.pods.pod import RAY_ADDRESS, Container, Pod
from webhook.policy.pods.requests import GpuRequests
from webhook.policy.snapshot import NamespacePolicy
from webhook.policy.verdict import Edit
from webhook.policy.workloads.kinds import Deferral, ExtractedPod, Launches, launches_of

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import RuntimeClass


class RequestContext(NamedTuple):
    """The request behind an object.

    `is_final_hook`: the validating hook received it, so a Pod should have the edits, and steering is over.
    `is_update`: the object exists already; edits are not expected, because settings and facts may have changed since.
    `added_containers`: the names of the ephemeral containers that the request adds, the only ones to check; None if the
    whole pod is checked. `hostpath`: whether the hook's path is the one for namespaces that allow hostPath volumes;
    None if there are no two paths. `groups`: the caller's groups; None offline.
    """

    namespace: str
    is_final_hook: bool = False
    is_update: bool = False
    added_containers: frozenset[str] | None = None
    hostpath: bool | None = None
    groups: tuple[str, ...] | None = None

    @property
    def is_offline(self) -> bool:
        """Whether no request is behind it: the command line checks a manifest."""
        return self.groups is None


class PodContext:
    """One pod with the request behind it and the policy of its namespace.

    `extracted` is the pod as its object holds it. `is_checked_as_it_is`: the object is a Pod, not a workload with a
    template, in the final hook, after which no affinity reaches the scheduler. `deferral`: why the pod's nodes are
    chosen later. `mps_requests` holds the requests for shared resources with which the pod could land on an MPS node,
    `first_mps_requests` the first one of each container.

    `rewritten`: the pod that a rewrite makes of the extracted one, and which is checked in its place. `edits`: those
    that the pod should have and lacks. `tolerates`: the tolerations of the settings count as the pod's own.
    """

    __slots__ = (
        "_launches",
        "deferral",
        "edits",
        "extracted",
        "first_mps_requests",
        "is_checked_as_it_is",
        "mps_requests",
        "origin",
        "placement",
        "pod",
        "policy",
        "requests",
    )

    def __init__(
        self,
        extracted: ExtractedPod,
        origin: RequestContext,
        policy: NamespacePolicy,
        *,
        rewritten: Pod | None = None,
        tolerates: bool = True,
    ) -> None:
        pod = rewritten or extracted.pod
        self.extracted = extracted
        self.pod = pod
        self.origin = origin
        self.is_checked_as_it_is = extracted.is_pod and origin.is_final_hook
        self.policy = policy
        self.deferral = extracted.deferral
        if pod.elements("schedulingGates"):
            self.deferral = Deferral.GATED
        elif self.is_checked_as_it_is or (
            self.deferral is Deferral.DEFAULT and not (origin.is_offline and policy.has_default_queue)
        ):
            self.deferral = None  # a hook sees the label of the queue, and the final hook whether it gated the pod
        self.edits: Sequence[Edit] = ()
        self._launches: Launches | None = None
        self.requests = GpuRequests(pod, policy.resource)
        if policy.annotated_resource is not None and pod.annotations:
            self.requests.add_annotated(policy.annotation_requests, policy.annotated_resource)
        pod.elements("tolerations")  # reject a malformed list even where nothing reads it
        runtime_class = None
        if policy.runtime_classes and policy.nodes.index.all and self.requests.positive:
            runtime_class = self.runtime_class(pod.text("runtimeClassName"))
        enabled = policy.injections.tolerations.enabled
        restores = origin.is_update and not origin.is_final_hook  # the mutating hook does so in each mode
        self.placement = Placement(
            pod,
            self.requests,
            policy.nodes,
            policy.tolerations(self.requests) if tolerates and (enabled or restores) else None,
            {} if runtime_class is None else runtime_class.node_selector,
            policy.node_selector if policy.node_selector and (not extracted.is_pod or origin.is_offline) else None,
        )
        lands = self.placement.lands
        self.mps_requests = [
            request
            for request in self.requests.positive
            if request.resource.kind == "shared" and lands(request.resource) is not Reachability.NO
        ]
        # The requests of a container are adjacent.
        self.first_mps_requests = [next(own) for _, own in groupby(self.mps_requests, attrgetter("container"))]

    def lacking(self, edits: Sequence[Edit]) -> PodContext:
        """The same pod, which lacks these edits of the mutating hook."""
        other = object.__new__(PodContext)
        for name in PodContext.__slots__:  # five times as fast as copy.copy
            setattr(other, name, getattr(self, name))
        other.edits = edits
        return other

    @property
    def launches(self) -> Launches:
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

    def is_replaced(self, value: str) -> bool:
        """Whether the kubelet, or the controller of the object, replaces a part of a text: the result is unknown."""
        return "$(" in value or ("{{" in value and self.extracted.place.renders)

    @property
    def is_on_gke(self) -> bool:
        """Whether nothing describes the cluster, and the pod has marks of GKE, which has a device plugin of its own."""
        return self.policy.trusts_markers and platforms.is_on_gke(self.pod, self.placement.requirement)

    @property
    def shows_mps(self) -> bool:
        """Whether anything shows that nodes which could take the pod share their cards through MPS."""
        if self.policy.assumes_mps:
            return True
        placement, unknown = self.placement, self.placement.cluster.index.unknown
        return any(
            placement.lands(one.resource) is Reachability.YES or placement.sharing("mps", one.resource) & ~unknown
            for one in self.mps_requests
        ) or (self.is_on_gke and platforms.requires_mps_of_gke(placement.requirement))

    def hostpath_allowed(self) -> bool | None:
        """Whether the namespace's Pod Security level allows hostPath volumes; None when unknown.

        Offline, an unknown namespace counts as one without the label.
        """
        if self.origin.hostpath is not None:
            return self.origin.hostpath
        if self.policy.namespace_labels is None and not self.origin.is_offline:
            return None
        return self.policy.allows_hostpath

    def runtime_class(self, name: str) -> RuntimeClass | None:
        """The known RuntimeClass of this name."""
        return self.policy.runtime_classes.get(name)
