"""Reads a cluster for `doctor`, as far as the caller's rights allow."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import msgspec

from webhook.cluster.objects import (
    CONFIG_MAP,
    DAEMON_SET,
    EVENT,
    LIMIT_RANGE,
    NODE,
    POD,
    QUOTA,
    Kind,
    Object,
    ObjectsWithTexts,
)
from webhook.live.doctor import reading
from webhook.live.doctor.installed import CERTIFICATE, Installed, read_installations
from webhook.live.doctor.seen import (
    Configurations,
    Limits,
    OwnerPods,
    Part,
    Program,
    Role,
    Seen,
    SeenEvent,
    SeenNode,
    SeenPods,
    Template,
)
from webhook.live.doctor.stack import program
from webhook.live.doctor.workloads import DEFAULT_PIPE
from webhook.live.owners import Owners
from webhook.live.pods import LivePod, Owner
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.gpu_resources import GpuResources
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
_MOST_EVENTS: Final = 1000


async def gather(
    objects: ObjectsWithTexts, settings: Settings, facts: Facts, namespace: str | None, installed_as: str | None
) -> Seen:
    """Read a cluster. `namespace` limits the pods, and what belongs to pods, to one namespace."""
    installed = await read_installations(objects, installed_as)
    known = [one.settings for one in installed.installations if one.settings is not None]
    settings = known[0] if known else settings
    if known or not (installed.installations or installed.lacking):
        # The caller looked for the usual installation only. Without any, a finding says so.
        objects.left_out[:] = [one for one in objects.left_out if one.what != "settings"]
    gpus = GpuResources(settings.resources)
    nodes = await _nodes(objects, gpus)
    programs = [one async for each in _each(objects, DAEMON_SET) if (one := program(each)) is not None]
    configurations = await _configurations(objects, programs)
    pods = await _pods(objects, gpus, namespace, programs)
    seen = Seen(
        settings,
        facts,
        datetime.now(UTC),
        nodes,
        tuple(programs),
        configurations,
        tuple([one async for one in _optional(objects, (_CLUSTER_POLICY,), None)]),
        pods,
        await _events(objects, namespace),
        await _limits(objects, gpus, namespace),
        await _templates(objects),
        await _mounting(objects),
        installed.hooks,
        installed.installations,
        installed.expiries,
        await _named(objects, settings),
    )
    return replace(seen, lacking=_lacking(objects, seen, namespace, installed))


async def _each(
    objects: ObjectsWithTexts, kind: Kind, namespace: str | None = None, **query: str
) -> AsyncIterator[Object]:
    async for page in objects.pages(kind, namespace, query):
        for one in page:
            yield one


async def _optional(objects: ObjectsWithTexts, kinds: Iterable[Kind], namespace: str | None) -> AsyncIterator[Object]:
    """The objects of a kind that a cluster may lack, in the first version that it has."""
    kind = await objects.served(kinds)
    if kind is not None:
        async for one in _each(objects, kind, namespace):
            yield one


async def _nodes(objects: ObjectsWithTexts, gpus: GpuResources) -> tuple[SeenNode, ...]:
    found = [one async for each in _each(objects, NODE) if (one := reading.seen_node(each, gpus)) is not None]
    return tuple(sorted(found, key=lambda one: one.name))


async def _configurations(objects: ObjectsWithTexts, programs: Iterable[Program]) -> dict[str, Configurations]:
    found = {}
    for one in programs:
        if one.role is Role.PLUGIN and one.config_map and one.maps not in found:
            read = await objects.one(CONFIG_MAP, one.namespace, one.config_map)
            if read is not None or not objects.hides(CONFIG_MAP, one.namespace, one.config_map):
                found[one.maps] = reading.configurations(one.maps, read, one.mig_strategy)
    return found


async def _pods(
    objects: ObjectsWithTexts, gpus: GpuResources, namespace: str | None, programs: Iterable[Program]
) -> SeenPods:
    """Read pods, with their topmost owners. Those of the GPU stack are read whatever the namespace is."""
    reader = reading.PodReader(gpus, DEFAULT_PIPE)
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


def _by_topmost(found: Mapping[tuple[str, Owner], OwnerPods], owners: Owners) -> dict[tuple[str, Owner], OwnerPods]:
    """The same pods by their topmost owners."""
    merged: dict[tuple[str, Owner], OwnerPods] = {}
    for (namespace, owner), pods in found.items():
        top = owners.top(LivePod(namespace, "", owner, "", "", "", {}))
        first = merged.setdefault((namespace, top), OwnerPods(0, pods.node, pods.detail))
        first.count += pods.count
    return merged


async def _events(objects: ObjectsWithTexts, namespace: str | None) -> tuple[SeenEvent, ...]:
    found: dict[SeenEvent, None] = {}
    for reason in _REASONS:
        async for one in _each(objects, EVENT, namespace, fieldSelector=f"reason={reason}"):
            event = reading.seen_event(one)
            if event.reason == reason and "runtime" in event.message.lower() and len(found) < _MOST_EVENTS:
                found[event] = None
    return tuple(found)


async def _limits(objects: ObjectsWithTexts, gpus: GpuResources, namespace: str | None) -> tuple[Limits, ...]:
    found = [
        reading.limits(name, one, gpus)
        for kind, name in ((QUOTA, "ResourceQuota"), (LIMIT_RANGE, "LimitRange"))
        async for one in _each(objects, kind, namespace)
    ]
    return tuple(one for one in found if one is not None)


async def _templates(objects: ObjectsWithTexts) -> tuple[Template, ...]:
    found: list[Template] = []
    for kinds in _MACHINES:
        async for one in _optional(objects, kinds, None):
            found += reading.templates(kinds[0].name, one)
    return tuple(found)


async def _mounting(objects: ObjectsWithTexts) -> tuple[str, ...]:
    """The policies that name the default pipe directory."""
    found = [
        f"{kinds[0].name} {one['metadata']['name']}"
        for kinds in _POLICIES
        async for one in _optional(objects, kinds, None)
        if DEFAULT_PIPE.encode() in msgspec.json.encode(one.get("spec"))
    ]
    return tuple(found)


async def _named(objects: ObjectsWithTexts, settings: Settings) -> dict[str, bool]:
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


def _lacking(objects: ObjectsWithTexts, seen: Seen, namespace: str | None, installed: Installed) -> dict[Part, str]:
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
