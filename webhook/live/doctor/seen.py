"""A cluster as `doctor` sees it: the GPU stack, our installations, and what matters of pods, as far as rights allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from webhook.cluster.nodes import whole
from webhook.cluster.objects import (
    CONFIG_MAP,
    DAEMON_SET,
    EVENT,
    LIMIT_RANGE,
    NODE,
    POD,
    QUOTA,
    Kind,
    LeftOut,
    Object,
    ObjectsWithMetrics,
    all_of,
    is_absent,
)
from webhook.cluster.reading import Owner, entries, part, word
from webhook.cluster.stack import MOST_DETAIL, Program, ProgramPod, Role, program_pod, role_of, seen_node
from webhook.cluster.trusted import Stack, configurations_of, named, programs_of, trust
from webhook.diagnostics import Diagnostic, InputError
from webhook.live.doctor.finding import Part
from webhook.live.doctor.installed import CERTIFICATE, Installed, read_installations
from webhook.live.owners import Owners
from webhook.live.pods import FINISHED, LivePod, live_pod
from webhook.policy.checks import gps032_quota
from webhook.policy.messages import cut
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.pods.pod import clean_path
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Violation

DEFAULT_PIPE: Final = "/tmp/nvidia-mps"  # noqa: S108 - the pipe directory of CUDA without the variable

_ADMISSION: Final = "admissionregistration.k8s.io"
_CLUSTER_POLICY: Final = Kind("clusterpolicy", "clusterpolicies", "nvidia.com", is_namespaced=False)
_MACHINES: Final = tuple(
    tuple(Kind(name, f"{name}s", group, version) for version in versions)
    for group, names, versions in (
        ("cluster.x-k8s.io", ("machinedeployment", "machineset", "machinepool"), ("v1beta2", "v1beta1")),
        ("machine.openshift.io", ("machineset",), ("v1beta1",)),
    )
    for name in names
)
"""Groups of machines that the cluster autoscaler may grow, each in its versions."""

_POLICIES: Final = (
    tuple(
        Kind("mutatingadmissionpolicy", "mutatingadmissionpolicies", _ADMISSION, version, is_namespaced=False)
        for version in ("v1", "v1beta1", "v1alpha1")
    ),
    (Kind("Kyverno clusterpolicy", "clusterpolicies", "kyverno.io", is_namespaced=False),),
    (Kind("Gatekeeper assign", "assign", "mutations.gatekeeper.sh", is_namespaced=False),),
)
"""Policies that may add a mount to pods, each in its versions."""

OPTIONAL: Final = (
    _CLUSTER_POLICY,
    CERTIFICATE,
    *(kind for versions in (*_MACHINES, *_POLICIES) for kind in versions),
)
"""Kinds that are read where the cluster has them."""


class SeenPod(NamedTuple):
    """A pod that asks for GPUs, was rejected, waits with a RuntimeClass, or `joins` the MPS daemon of the host.

    `message` is that of its status, where it was rejected.
    """

    pod: LivePod
    runtime_class: str
    joins: bool
    message: str

    @property
    def asks(self) -> bool:
        """Whether it asks for GPUs, and has not ended."""
        return bool(self.pod.requests) and self.pod.phase not in FINISHED

    @property
    def owner(self) -> tuple[str, Owner]:
        """The owner with its namespace: the topmost one of a pod that was rejected or joins."""
        return self.pod.namespace, self.pod.owner

    def __str__(self) -> str:
        return f"{self.pod.namespace}/{self.pod.name}"


class SeenEvent(NamedTuple):
    """An event about a pod, or about the controller of pods that cannot be created."""

    reason: str
    namespace: str
    kind: str
    name: str
    message: str


class Limits(NamedTuple):
    """A ResourceQuota or a LimitRange in which GPS032 finds something."""

    kind: str
    namespace: str
    name: str
    violations: Sequence[Violation]


class Template(NamedTuple):
    """A group of nodes that an autoscaler may add: what it says that each node offers, and its labels."""

    namespace: str
    where: str
    resources: Mapping[str, int]
    labels: Mapping[str, str]
    edit: str


@dataclass(frozen=True)
class Seen(Stack):
    """Everything that was read of a cluster. `lacking` says for a part why it is not known.

    `others` are programs of the GPU stack that do not count, and `other_pods` their pods. `policies` are those of the
    GPU operator, and `mounting` names policies that mount the default pipe directory. `absent` names objects of the
    settings that do not exist.
    """

    settings: Settings
    facts: Facts
    now: datetime
    others: Sequence[Program]
    other_pods: Sequence[ProgramPod]
    pods: Sequence[SeenPod]
    events: Iterable[SeenEvent]
    limits: Sequence[Limits]
    templates: Sequence[Template]
    policies: Sequence[Object]
    mounting: Sequence[str]
    installed: Installed
    absent: Set[str]
    lacking: Mapping[Part, str] = field(default_factory=dict)


async def gather(
    objects: ObjectsWithMetrics,
    settings: Settings,
    facts: Facts,
    namespace: str | None,
    installed_as: str | None,
    plugin: str | None,
) -> Seen:
    """Read a cluster. `namespace` limits the pods, and what belongs to pods, to one namespace.

    `plugin` is `namespace/name` of the DaemonSet of the device plugin; None if the caller does not name it. Raises
    InputError if there is no such DaemonSet.
    """
    installed = await read_installations(objects, installed_as)
    known = [one.settings for one in installed.installations if one.settings is not None]
    settings = known[0] if known else settings
    if known or not (installed.installations or installed.lacking):
        # The caller looked for the usual installation only. Without any, a finding says so.
        objects.left_out[:] = [one for one in objects.left_out if one.what != "settings"]
    if "settings" in installed.lacking:
        objects.left_out.append(LeftOut("settings", installed.lacking["settings"]))
    gpus = GpuResources(settings.resources)
    with_gpus = [one async for found in all_of(objects, NODE) if (one := seen_node(found, gpus)) is not None]
    nodes = sorted(with_gpus, key=lambda one: one.name)
    stack = [one async for one in programs_of(objects)]
    if plugin is not None and not objects.lacks(DAEMON_SET) and all(str(one) != plugin for one in stack):
        problem = f"no DaemonSet {plugin} has a container of the GPU stack"
        raise InputError([Diagnostic("--device-plugin-daemonset", 0, 0, problem)])
    of_stack, pods = await _pods(objects, gpus, namespace, {one.namespace for one in stack})
    administered = {*named(settings, plugin), *(one.namespace for one in installed.installations)}
    trusted = trust(administered, facts.namespaces or (), nodes, stack, of_stack)
    programs = [one for one in stack if trusted.counts(one.namespace)]
    offered = {name for node in nodes for name in node.offered}
    seen = Seen(
        trusted,
        nodes,
        programs,
        [one for one in of_stack if trusted.counts(one.namespace)],
        await configurations_of(objects, programs),
        settings,
        facts,
        datetime.now(UTC),
        [one for one in stack if not trusted.counts(one.namespace)],
        [one for one in of_stack if not trusted.counts(one.namespace)],
        pods,
        await _events(objects, namespace),
        [one async for one in _limits(objects, gpus, offered, namespace)],
        [one async for one in _templates(objects)],
        [one async for one in _optional(objects, (_CLUSTER_POLICY,))],
        [one async for one in _mounting(objects)],
        installed,
        {one async for one in _absent(objects, settings)},
    )
    return replace(seen, lacking=_lacking(objects, seen, namespace))


async def _optional(objects: ObjectsWithMetrics, kinds: Iterable[Kind]) -> AsyncIterator[Object]:
    """The objects of a kind that a cluster may lack, in the first version that it has."""
    kind = await objects.served(kinds)
    if kind is not None:
        async for one in all_of(objects, kind):
            yield one


async def _pods(
    objects: ObjectsWithMetrics, gpus: GpuResources, namespace: str | None, of_stack: Set[str]
) -> tuple[list[ProgramPod], list[SeenPod]]:
    """Read the pods of the GPU stack, also those in other namespaces `of_stack`, and the others that matter."""
    programs, found = [], []
    for place in [namespace, *(() if namespace is None else sorted(of_stack - {namespace}))]:
        async for one in all_of(objects, POD, place):
            role = role_of(part(one, "spec"))
            if role is None and place == namespace:
                found += [pod] if (pod := _seen_pod(one, gpus)) is not None else []
            elif role is not None and word(one, "status", "phase") not in FINISHED:  # or else it runs nowhere
                programs.append(program_pod(one, role))
    if any(one.pod.was_rejected or one.joins for one in found):
        owners = await Owners.read(objects, namespace)
        found = [one._replace(pod=replace(one.pod, owner=owners.top(one.pod))) for one in found]
    return programs, found


def _seen_pod(found: Object, gpus: GpuResources) -> SeenPod | None:
    """Read a pod; None for one that does not matter."""
    pod, message = live_pod(found, gpus.find), cut(word(found, "status", "message"), MOST_DETAIL)
    joins = pod.phase not in FINISHED and _mounts(part(found, "spec"), DEFAULT_PIPE)
    seen = SeenPod(pod, word(found, "spec", "runtimeClassName"), joins, message if pod.was_rejected else "")
    is_waiting = pod.phase == "Pending" and seen.runtime_class
    return seen if pod.was_rejected or joins or is_waiting or seen.asks else None


def _mounts(spec: Object, folder: str) -> bool:
    """Whether a pod mounts the folder of the host, or mounts a folder of the host there."""
    paths = {one.get("name"): path for one in entries(spec, "volumes") if (path := word(one, "hostPath", "path"))}
    if any(clean_path(path) == folder for path in paths.values()):
        return True
    containers = (*entries(spec, "initContainers"), *entries(spec, "containers")) if paths else ()
    mounts = (mount for one in containers for mount in entries(one, "volumeMounts"))
    return any(clean_path(word(one, "mountPath")) == folder and one.get("name") in paths for one in mounts)


_MOST_EVENTS: Final = 100
"""Events of one namespace that are kept."""

_LONGEST_MESSAGE: Final = 1024
"""Characters of an event's message, which is as long at most (kubernetes pkg/apis/core/validation/events.go)."""


async def _events(objects: ObjectsWithMetrics, namespace: str | None) -> Iterable[SeenEvent]:
    """Events about runtime classes and handlers, so many of each namespace: others keep theirs, whatever one writes."""
    found: dict[SeenEvent, None] = {}
    kept: Counter[str] = Counter()
    for reason in ("FailedCreatePodSandBox", "FailedCreate"):
        async for one in all_of(objects, EVENT, namespace, fieldSelector=f"reason={reason}"):
            event = SeenEvent(
                word(one, "reason"),
                word(one, "metadata", "namespace"),  # that of the object may be another's
                word(one, "involvedObject", "kind"),
                word(one, "involvedObject", "name"),
                cut(word(one, "message"), _LONGEST_MESSAGE),
            )
            is_about = event.reason == reason and "runtime" in event.message.lower()
            if is_about and event not in found and kept[event.namespace] < _MOST_EVENTS:
                kept[event.namespace] += 1
                found[event] = None
    return found


async def _limits(
    objects: ObjectsWithMetrics, gpus: GpuResources, offered: Set[str], namespace: str | None
) -> AsyncIterator[Limits]:
    for kind, noun in ((QUOTA, "ResourceQuota"), (LIMIT_RANGE, "LimitRange")):
        async for one in all_of(objects, kind, namespace):
            try:
                violations = list(gps032_quota.run(gps032_quota.NamespaceLimits(one, noun, gpus, offered)))
            except MalformedError:  # the API server checks both kinds
                continue
            if violations:
                yield Limits(noun, word(one, "metadata", "namespace"), word(one, "metadata", "name"), violations)


_CAPACITY: Final = "capacity.cluster-autoscaler.kubernetes.io/"
"""The annotations by which a group without nodes tells the autoscaler of them (kubernetes/autoscaler
cluster-autoscaler/cloudprovider/clusterapi/README.md)."""

_OPENSHIFT: Final = "machine.openshift.io/GPU"


async def _templates(objects: ObjectsWithMetrics) -> AsyncIterator[Template]:
    """The nodes that groups of machines say that they add, by their annotations."""
    for kinds in _MACHINES:
        async for one in _optional(objects, kinds):
            annotations, namespace = part(one, "metadata", "annotations"), word(one, "metadata", "namespace")
            field = next((key for key in (f"{_CAPACITY}gpu-count", _OPENSHIFT) if key in annotations), None)
            if field is not None:
                kind = None if field == _OPENSHIFT else annotations.get(f"{_CAPACITY}gpu-type")
                written = annotations.get(f"{_CAPACITY}labels", "").split(",")
                yield Template(
                    namespace,
                    f"{kinds[0].name} {namespace}/{word(one, 'metadata', 'name')}",
                    {kind or "nvidia.com/gpu": whole(annotations[field])},
                    dict(pair.split("=", 1) for pair in written if "=" in pair),
                    field,
                )


async def _mounting(objects: ObjectsWithMetrics) -> AsyncIterator[str]:
    """The policies that name the default pipe directory."""
    for kinds in _POLICIES:
        async for one in _optional(objects, kinds):
            if DEFAULT_PIPE.encode() in msgspec.json.encode(one.get("spec")):
                yield f"{kinds[0].name} {one['metadata']['name']}"


async def _absent(objects: ObjectsWithMetrics, settings: Settings) -> AsyncIterator[str]:
    """The objects that the settings name and that do not exist, as far as that is known."""
    source = settings.facts.device_plugin
    maps = () if source is None else source.config_maps
    daemon_sets = () if source is None or source.daemon_set is None else (source.daemon_set,)
    for kind, noun, places in ((CONFIG_MAP, "ConfigMap", maps), (DAEMON_SET, "DaemonSet", daemon_sets)):
        for where in places:
            namespace, _, name = where.partition("/")
            if await is_absent(objects, kind, namespace, name):
                yield f"{noun} {where}"


def _lacking(objects: ObjectsWithMetrics, seen: Seen, namespace: str | None) -> dict[Part, str]:
    """Why parts are not known."""
    lists: tuple[tuple[Part, Kind, str | None], ...] = (
        ("nodes", NODE, None),
        ("daemonsets", DAEMON_SET, None),
        ("pods", POD, namespace),
        ("events", EVENT, namespace),
        ("quotas", QUOTA, namespace),
        ("quotas", LIMIT_RANGE, namespace),
    )
    found = {part: f"{kind.plural} cannot be read" for part, kind, place in lists if objects.lacks(kind, place)}
    if seen.facts.namespaces is None:
        found["namespaces"] = "namespaces cannot be read"
    if seen.facts.runtime_classes is None:
        found["runtime classes"] = "runtimeclasses cannot be read"
    if any(one.config_map and one.maps not in seen.configurations for one in seen.of(Role.PLUGIN)):
        found["configurations"] = "the ConfigMap of the device plugin cannot be read"
    if any(objects.lacks(kind) for kinds in _MACHINES for kind in kinds):
        found["templates"] = "groups of machines cannot be read"
    return {**found, **seen.installed.lacking}
