"""Pods that hold replicas, with the memory that they count on, and those that a change leaves without room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from webhook.cluster.objects import Object
from webhook.live.plan.nodes import NodeChange
from webhook.live.pods import FINISHED, LivePod, live_pod
from webhook.policy.placement.memory import ANNOTATION, mebibytes_of
from webhook.policy.pods.client_limits import ANNOTATIONS, memory
from webhook.policy.pods.pod import MEMORY
from webhook.policy.pods.requests import Lookup

_PINNED = next(one for one in ANNOTATIONS if one.variable == MEMORY)


class GpuPod(NamedTuple):
    """A pod that asks for GPUs, and the MiB of a replica that it counts on: by annotation, or by its own limit.

    0 where it names none.
    """

    pod: LivePod
    asked: int
    limit: float


def gpu_pod(found: Object, lookup: Lookup) -> GpuPod | None:
    """Read a pod; None for one that asks for no GPU or is finished."""
    pod = live_pod(found, lookup)
    if not pod.requests or pod.phase in FINISHED:
        return None
    annotations = (found.get("metadata") or {}).get("annotations") or {}
    asked = 0
    with suppress(ValueError):
        asked = mebibytes_of(annotations.get(ANNOTATION))
    texts = (*_annotated(annotations.get(_PINNED.key)), *_variables(found.get("spec") or {}))
    limits = [limit for text in texts for limit in _limits(text)]
    return GpuPod(pod, asked, max(limits, default=0))


def _annotated(value: object) -> Iterator[str]:
    """The value of the variable that the annotation of the limit sets, if it is well-formed."""
    if isinstance(value, str):
        with suppress(ValueError):
            yield _PINNED.write(value)


def _variables(spec: Mapping[str, Any]) -> Iterator[object]:
    for part in ("initContainers", "containers"):
        for container in spec.get(part) or ():
            yield from (one.get("value") for one in container.get("env") or () if one.get("name") == MEMORY)


def _limits(text: object) -> Iterator[float]:
    if isinstance(text, str):
        with suppress(ValueError):
            yield from (one.mebibytes for one in memory(text))


def held_amounts(pods: Iterable[GpuPod]) -> dict[tuple[str, str], int]:
    """What bound pods hold, by node and resource."""
    held: Counter[tuple[str, str]] = Counter()
    for one in pods:
        if one.pod.holds:
            held.update({(one.pod.node, name): amount for name, amount in one.pod.requests.items()})
    return dict(held)


class Unfit(NamedTuple):
    """Pods of a node that no longer fit there: more replicas are held than it offers, or a pod counts on more memory.

    `wanted` and `left` are replicas, or MiB of a replica where `is_memory`.
    """

    node: str
    resource: str
    wanted: int
    left: int
    is_memory: bool
    pods: tuple[LivePod, ...]


def unfit(changes: Sequence[NodeChange], pods: Sequence[GpuPod]) -> Iterator[Unfit]:
    """The pods that no longer fit, node by node."""
    there: dict[tuple[str, str], list[GpuPod]] = {}
    for one in pods:
        if one.pod.holds:
            for resource in one.pod.requests:
                there.setdefault((one.pod.node, resource), []).append(one)
    for change in changes:
        holders = there.get((change.node, change.resource), [])
        total = 0 if change.after is None else change.after.total
        was = 0 if change.before is None else change.before.total
        if change.held > total and total < was:
            order = sorted(
                holders, key=lambda one: (-one.pod.requests[change.resource], one.pod.namespace, one.pod.name)
            )
            yield Unfit(change.node, change.resource, change.held, total, False, tuple(one.pod for one in order))
        share = None if change.after is None else change.after.share
        before = None if change.before is None else change.before.share
        if share is not None and before is not None and share < before:
            yield from _by_memory(change, holders, before, share)


def _by_memory(change: NodeChange, holders: Sequence[GpuPod], before: int, share: int) -> Iterator[Unfit]:
    """The pods that count on more memory than the smaller share, and did not do so in vain before."""
    sizes: dict[int, list[LivePod]] = {}
    for one in holders:
        for size in (one.asked, int(one.limit)):
            if share < size <= before:
                sizes.setdefault(size, []).append(one.pod)
                break
    for size, those in sorted(sizes.items()):
        yield Unfit(change.node, change.resource, size, share, True, tuple(those))


class Capacity(NamedTuple):
    """A resource of the whole cluster: what all unfinished pods ask for, and what nodes offer before and after."""

    resource: str
    asked: int
    before: int
    after: int

    @property
    def is_short(self) -> bool:
        """Whether the pods no longer fit, although they did."""
        return self.after < self.asked <= self.before


def capacities(changes: Sequence[NodeChange], totals: Mapping[str, int], pods: Iterable[GpuPod]) -> Iterator[Capacity]:
    """The resources of which the cluster offers more or less. `totals` holds what it offers before."""
    asked: Counter[str] = Counter()
    for one in pods:
        asked.update(one.pod.requests)
    more: Counter[str] = Counter()
    for change in changes:
        more[change.resource] += 0 if change.after is None else change.after.total
        more[change.resource] -= 0 if change.before is None else change.before.total
    for resource, difference in sorted(more.items()):
        if difference:
            before = totals.get(resource, 0)
            yield Capacity(resource, asked[resource], before, before + difference)
