"""Pods that hold replicas, with the memory that they count on, and those that a change leaves without room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from webhook.cluster.reading import Object, entries, part
from webhook.live.plan.nodes import NodeChange, total
from webhook.live.pods import FINISHED, LivePod, live_pod
from webhook.policy.pods.client_limits import ANNOTATIONS, memory
from webhook.policy.pods.pod import MEMORY
from webhook.policy.pods.requests import Lookup

_PINNED = next(one for one in ANNOTATIONS if one.variable == MEMORY)


class GpuPod(NamedTuple):
    """A pod that asks for GPUs, and the MiB of a replica that it counts on by its own limit; 0 without one."""

    pod: LivePod
    limit: float


def gpu_pod(found: Object, lookup: Lookup) -> GpuPod | None:
    """Read a pod; None for one that asks for no GPU or is finished."""
    pod = live_pod(found, lookup)
    if not pod.requests or pod.phase in FINISHED:
        return None
    annotation = part(found, "metadata", "annotations").get(_PINNED.key)
    texts = [
        one.get("value")
        for key in ("initContainers", "containers")
        for container in entries(found, "spec", key)
        for one in entries(container, "env")
        if one.get("name") == MEMORY
    ]
    limit: float = 0
    with suppress(ValueError):  # a value that is not well-formed sets no limit
        texts += [_PINNED.write(annotation)] if isinstance(annotation, str) else []
    for text in texts:
        with suppress(ValueError):
            for one in memory(text) if isinstance(text, str) else ():
                limit = max(limit, one.mebibytes)
    return GpuPod(pod, limit)


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
        becomes = total(change.after)
        if change.held > becomes and becomes < total(change.before):
            order = sorted(
                holders, key=lambda one: (-one.pod.requests[change.resource], one.pod.namespace, one.pod.name)
            )
            yield Unfit(change.node, change.resource, change.held, becomes, False, tuple(one.pod for one in order))
        share = None if change.after is None else change.after.share
        before = None if change.before is None else change.before.share
        if share is not None and before is not None and share < before:
            yield from _by_memory(change, holders, before, share)


def _by_memory(change: NodeChange, holders: Sequence[GpuPod], before: int, share: int) -> Iterator[Unfit]:
    """The pods that count on more memory than the smaller share, and did not do so in vain before."""
    sizes: dict[int, list[LivePod]] = {}
    for one in holders:
        size = int(one.limit)
        if share < size <= before:
            sizes.setdefault(size, []).append(one.pod)
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
        more[change.resource] += total(change.after) - total(change.before)
    for resource, difference in sorted(more.items()):
        if difference:
            before = totals.get(resource, 0)
            yield Capacity(resource, asked[resource], before, before + difference)
