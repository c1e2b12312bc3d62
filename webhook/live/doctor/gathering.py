"""Reads a cluster for `doctor`, as far as the caller's rights allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

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
    Objects,
    ObjectsWithMetrics,
)
from webhook.cluster.reading import Owner, entries, part, word
from webhook.cluster.stack import (
    CAPACITY,
    MOST_DETAIL,
    Configurations,
    Program,
    ProgramPod,
    Role,
    configurations,
    program,
    program_pod,
    role_of,
    seen_node,
)
from webhook.diagnostics import Diagnostic, InputError
from webhook.live.doctor.installed import CERTIFICATE, Installed, read_installations
from webhook.live.doctor.seen import Limits, OwnerPods, Part, Seen, SeenEvent, SeenPods, Template, Trust, Unconfirmed
from webhook.live.doctor.trust import Evidence, trust
from webhook.live.doctor.workloads import DEFAULT_PIPE
from webhook.live.owners import Owners
from webhook.live.pods import FINISHED, LivePod, live_pod
from webhook.policy.messages import cut
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.pods.pod import clean_path
from webhook.policy.settings.settings import Settings

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
        Kind(
            "mutatingadmissionpolicy",
            "mutatingadmissionpolicies",
            "admissionregistration.k8s.io",
            version,
            is_namespaced=False,
        )
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

_REASONS: Final = ("FailedCreatePodSandBox", "FailedCreate")
_MOST_EVENTS: Final = 100
"""Events of one namespace that are kept."""


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
    with_gpus = [one async for each in _each(objects, NODE) if (one := seen_node(each, gpus)) is not None]
    nodes = tuple(sorted(with_gpus, key=lambda one: one.name))
    stack = [one async for one in programs_of(objects)]
    if plugin is not None and not objects.lacks(DAEMON_SET) and all(str(one) != plugin for one in stack):
        problem = f"no DaemonSet {plugin} has a container of the GPU stack"
        raise InputError([Diagnostic("--device-plugin-daemonset", 0, 0, problem)])
    pods = await _pods(objects, gpus, namespace, stack)
    evidence = Evidence(plugin, settings, installed.installations, facts.namespaces, nodes, stack, pods.programs)
    trusted = trust(evidence)
    programs = tuple(one for one in stack if trusted.counts(one.namespace))
    unconfirmed = _unconfirmed(trusted, evidence)
    pods.programs = [one for one in pods.programs if trusted.counts(one.namespace)]
    seen = Seen(
        settings,
        facts,
        datetime.now(UTC),
        trusted,
        nodes,
        programs,
        await configurations_of(objects, programs),
        tuple([one async for one in _optional(objects, (_CLUSTER_POLICY,), None)]),
        pods,
        plugins_of(pods.programs),
        unconfirmed,
        await _events(objects, namespace),
        await _limits(objects, gpus, namespace),
        await _templates(objects),
        await _mounting(objects),
        installed.hooks,
        installed.installations,
        installed.unconfirmed,
        installed.expiries,
        await _named(objects, settings),
    )
    return replace(seen, lacking=_lacking(objects, seen, namespace, installed))


async def programs_of(objects: Objects) -> AsyncIterator[Program]:
    """The DaemonSets of the GPU stack, each with what it reads as its configuration."""
    async for each in _each(objects, DAEMON_SET):
        one = program(each)
        if one is not None and one.deciding:
            read = {name: await objects.one(CONFIG_MAP, one.namespace, name) for name in one.deciding}
            if all(
                found is not None or not objects.hides(CONFIG_MAP, one.namespace, name) for name, found in read.items()
            ):
                one = program(each, {name: part(found, "data") for name, found in read.items()})
        if one is not None:
            yield one


async def _each(objects: Objects, kind: Kind, namespace: str | None = None, **query: str) -> AsyncIterator[Object]:
    async for page in objects.pages(kind, namespace, query):
        for one in page:
            yield one


async def _optional(objects: ObjectsWithMetrics, kinds: Iterable[Kind], namespace: str | None) -> AsyncIterator[Object]:
    """The objects of a kind that a cluster may lack, in the first version that it has."""
    kind = await objects.served(kinds)
    if kind is not None:
        async for one in _each(objects, kind, namespace):
            yield one


async def configurations_of(objects: Objects, programs: Iterable[Program]) -> dict[str, Configurations]:
    """The configurations that plugins read, and those that they get and do not read, by ConfigMap."""
    found = {}
    for one in programs:
        for name in (one.config_map, *one.unread) if one.role is Role.PLUGIN else ():
            where = f"{one.namespace}/{name}"
            if name and where not in found:
                read = await objects.one(CONFIG_MAP, one.namespace, name)
                if read is not None or not objects.hides(CONFIG_MAP, one.namespace, name):
                    found[where] = configurations(where, read, one.mig_strategy)
    return found


async def _pods(
    objects: ObjectsWithMetrics, gpus: GpuResources, namespace: str | None, programs: Iterable[Program]
) -> SeenPods:
    """Read pods, with their topmost owners. Those of the GPU stack are read whatever the namespace is."""
    reader = _PodReader(gpus, DEFAULT_PIPE)
    async for one in _each(objects, POD, namespace):
        reader.add(one)
    if namespace is not None:
        for other in sorted({one.namespace for one in programs} - {namespace}):
            async for one in _each(objects, POD, other):
                reader.add_program(one)
    seen = reader.seen
    if seen.rejected or seen.joining:
        owners = await Owners.read(objects, namespace)
        seen.rejected, seen.joining = _by_topmost(seen.rejected, owners), _by_topmost(seen.joining, owners)
    return seen


def plugins_of(pods: Iterable[ProgramPod]) -> dict[str, set[tuple[str, str]]]:
    """The namespace and the owner of each plugin's pods by node."""
    found: dict[str, set[tuple[str, str]]] = {}
    for one in pods:
        if one.role is Role.PLUGIN and one.node:
            found.setdefault(one.node, set()).add((one.namespace, one.owner or one.name))
    return found


def _unconfirmed(trusted: Trust, found: Evidence) -> tuple[Unconfirmed, ...]:
    """The programs of the GPU stack that do not count, each with the GPU nodes on which it runs."""
    names, registering = {one.name for one in found.nodes}, set()
    nodes: dict[tuple[Role, str, str], list[str]] = {
        (one.role, one.namespace, str(one)): [] for one in found.programs if not trusted.counts(one.namespace)
    }
    for pod in found.pods:
        if not trusted.counts(pod.namespace):
            key = pod.role, pod.namespace, f"{pod.namespace}/{pod.owner or pod.name}"
            nodes.setdefault(key, []).extend({pod.node} & names)
            registering |= {key} if pod.mounts_kubelet and pod.role is Role.PLUGIN else set()
    daemon_sets = {str(one) for one in found.programs}
    return tuple(
        Unconfirmed(*key, key[2] in daemon_sets, key in registering, tuple(sorted(on)))
        for key, on in sorted(nodes.items(), key=lambda one: one[0][1:])
    )


def _by_topmost(found: Mapping[tuple[str, Owner], OwnerPods], owners: Owners) -> dict[tuple[str, Owner], OwnerPods]:
    """The same pods by their topmost owners."""
    merged: dict[tuple[str, Owner], OwnerPods] = {}
    for (namespace, owner), pods in found.items():
        top = owners.top(LivePod(namespace, "", owner, "", "", "", {}))
        first = merged.setdefault((namespace, top), OwnerPods(0, pods.node, pods.detail))
        first.count += pods.count
    return merged


async def _events(objects: ObjectsWithMetrics, namespace: str | None) -> tuple[SeenEvent, ...]:
    """Events about runtime classes and handlers, so many of each namespace: others keep theirs, whatever one writes."""
    found: dict[SeenEvent, None] = {}
    kept: Counter[str] = Counter()
    for reason in _REASONS:
        async for one in _each(objects, EVENT, namespace, fieldSelector=f"reason={reason}"):
            event = _seen_event(one)
            is_about = event.reason == reason and "runtime" in event.message.lower()
            if is_about and event not in found and kept[event.namespace] < _MOST_EVENTS:
                kept[event.namespace] += 1
                found[event] = None
    return tuple(found)


async def _limits(objects: ObjectsWithMetrics, gpus: GpuResources, namespace: str | None) -> tuple[Limits, ...]:
    found = [
        _limits_of(name, one, gpus)
        for kind, name in ((QUOTA, "ResourceQuota"), (LIMIT_RANGE, "LimitRange"))
        async for one in _each(objects, kind, namespace)
    ]
    return tuple(one for one in found if one is not None)


async def _templates(objects: ObjectsWithMetrics) -> tuple[Template, ...]:
    found: list[Template] = []
    for kinds in _MACHINES:
        async for one in _optional(objects, kinds, None):
            found += _templates_of(kinds[0].name, one)
    return tuple(found)


async def _mounting(objects: ObjectsWithMetrics) -> tuple[str, ...]:
    """The policies that name the default pipe directory."""
    found = [
        f"{kinds[0].name} {one['metadata']['name']}"
        for kinds in _POLICIES
        async for one in _optional(objects, kinds, None)
        if DEFAULT_PIPE.encode() in msgspec.json.encode(one.get("spec"))
    ]
    return tuple(found)


async def _named(objects: ObjectsWithMetrics, settings: Settings) -> dict[str, bool]:
    """Whether the objects exist that the settings name, as far as that is known."""
    source = settings.facts.device_plugin
    if source is None:
        return {}
    named = [(CONFIG_MAP, "ConfigMap", where) for where in source.config_maps]
    named += [(DAEMON_SET, "DaemonSet", source.daemon_set)] if source.daemon_set else []
    found = {}
    for kind, noun, where in named:
        namespace, _, name = where.partition("/")
        exists = await objects.one(kind, namespace, name) is not None
        if exists or not objects.hides(kind, namespace, name):
            found[f"{noun} {where}"] = exists
    return found


def _lacking(objects: ObjectsWithMetrics, seen: Seen, namespace: str | None, installed: Installed) -> dict[Part, str]:
    """Why parts are not known."""
    lists: tuple[tuple[Part, Kind, str | None], ...] = (
        ("nodes", NODE, None),
        ("daemonsets", DAEMON_SET, None),
        ("pods", POD, namespace),
        ("events", EVENT, namespace),
        ("quotas", QUOTA, namespace),
        ("quotas", LIMIT_RANGE, namespace),
    )
    found = {part: f"{kind.plural} cannot be read" for part, kind, within in lists if objects.lacks(kind, within)}
    if seen.facts.namespaces is None:
        found["namespaces"] = "namespaces cannot be read"
    if seen.facts.runtime_classes is None:
        found["runtime classes"] = "runtimeclasses cannot be read"
    if any(one.config_map and one.maps not in seen.configurations for one in seen.of(Role.PLUGIN)):
        found["configurations"] = "the ConfigMap of the device plugin cannot be read"
    if any(objects.lacks(kind) for kinds in _MACHINES for kind in kinds):
        found["templates"] = "groups of machines cannot be read"
    return {**found, **installed.lacking}


# The records of plain objects.

_OPENSHIFT: Final = "machine.openshift.io/GPU"


class _PodReader:
    """Collects what the pods show. `joins` is the folder by whose mount a container joins an MPS daemon."""

    def __init__(self, gpus: GpuResources, joins: str) -> None:
        self.seen = SeenPods()
        self._lookup = gpus.find
        self._joins = joins

    def add_program(self, found: Object) -> bool:
        """Add a pod if it is one of the GPU stack, and return whether it is."""
        role = role_of(part(found, "spec"))
        if role is None:
            return False
        if word(found, "status", "phase") not in FINISHED:  # or else it runs nowhere
            self.seen.programs.append(program_pod(found, role))
        return True

    def add(self, found: Object) -> None:
        """Add a pod."""
        if self.add_program(found):
            return
        pod, name = live_pod(found, self._lookup), word(found, "spec", "runtimeClassName")
        if pod.phase == "Pending" and name:
            self.seen.pending[pod.namespace, pod.name] = pod.node, name
        if pod.was_rejected:
            rejected = self.seen.rejected.setdefault((pod.namespace, pod.owner), OwnerPods())
            _count(rejected, pod, word(found, "status", "message"))
        if pod.phase in FINISHED:
            return
        if _mounts(part(found, "spec"), self._joins):
            _count(self.seen.joining.setdefault((pod.namespace, pod.owner), OwnerPods()), pod, "")
        if pod.requests:
            _count(self.seen.asking.setdefault(pod.namespace, OwnerPods()), pod, f"{pod.namespace}/{pod.name}")
            if name:
                _count(self.seen.classes.setdefault(name, OwnerPods()), pod, f"{pod.namespace}/{pod.name}")


def _count(pods: OwnerPods, pod: LivePod, detail: str) -> None:
    pods.count += 1
    if not pods.node:
        pods.node, pods.detail = pod.node, pods.detail or cut(detail, MOST_DETAIL)


def _mounts(spec: Object, folder: str) -> bool:
    """Whether a pod mounts the folder of the host, or mounts a folder of the host there."""
    paths = {one.get("name"): path for one in entries(spec, "volumes") if (path := word(one, "hostPath", "path"))}
    if any(clean_path(path) == folder for path in paths.values()):
        return True
    containers = (*entries(spec, "initContainers"), *entries(spec, "containers")) if paths else ()
    mounts = (mount for one in containers for mount in entries(one, "volumeMounts"))
    return any(clean_path(word(one, "mountPath")) == folder and one.get("name") in paths for one in mounts)


def _seen_event(found: Object) -> SeenEvent:
    return SeenEvent(
        word(found, "reason"),
        word(found, "metadata", "namespace"),  # that of the object may be another's
        word(found, "involvedObject", "kind"),
        word(found, "involvedObject", "name"),
        cut(word(found, "message"), _LONGEST_MESSAGE),
    )


_LONGEST_MESSAGE: Final = 1024
"""Characters of an event's message, which is as long at most (kubernetes pkg/apis/core/validation/events.go)."""


def _limits_of(kind: str, found: Object, gpus: GpuResources) -> Limits | None:
    """Read a ResourceQuota or a LimitRange; None for one that names no GPU resource."""
    spec = part(found, "spec")
    if kind == "ResourceQuota":
        names: Iterable[str] = (key.partition(".")[2] for key in part(spec, "hard"))
    else:
        fields = ("default", "defaultRequest", "max", "min", "maxLimitRequestRatio")
        names = (key for item in entries(spec, "limits") for field in fields for key in part(item, field))
    if not any(name in gpus for name in names):
        return None
    return Limits(kind, word(found, "metadata", "namespace"), word(found, "metadata", "name"), {"spec": spec})


def _templates_of(kind: str, found: Object) -> Iterator[Template]:
    """The nodes that a group of machines says that it adds, by its annotations."""
    annotations, namespace = part(found, "metadata", "annotations"), word(found, "metadata", "namespace")
    where = f"{kind} {namespace}/{word(found, 'metadata', 'name')}"
    labels = dict(pair.split("=", 1) for pair in annotations.get(f"{CAPACITY}labels", "").split(",") if "=" in pair)
    count = annotations.get(f"{CAPACITY}gpu-count")
    if count is not None:
        resource = annotations.get(f"{CAPACITY}gpu-type") or "nvidia.com/gpu"
        yield Template(namespace, where, {resource: whole(count)}, labels, f"{CAPACITY}gpu-count")
    elif _OPENSHIFT in annotations:
        yield Template(namespace, where, {"nvidia.com/gpu": whole(annotations[_OPENSHIFT])}, labels, _OPENSHIFT)
