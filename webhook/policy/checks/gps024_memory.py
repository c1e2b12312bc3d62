"""A program takes more of a card's memory than its share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from webhook.policy.checks.check import Check, Scope
from webhook.policy.context import PodContext
from webhook.policy.injections.limits import annotated_limits
from webhook.policy.launchers.find import memory_uses
from webhook.policy.launchers.memory import MemoryUse
from webhook.policy.messages import message
from webhook.policy.placement.memory import NodeKind, written
from webhook.policy.placement.node_classes import SharingStrategy
from webhook.policy.placement.reachability import Reachability
from webhook.policy.pods.client_limits import memory
from webhook.policy.pods.pod import MEMORY, Container
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.replica_limits import whole_cards
from webhook.policy.verdict import Severity, Violation


class _Room(NamedTuple):
    """The fraction of a card that a container may take, and the card in words of messages."""

    fraction: float
    card: str


def run(context: PodContext) -> Iterator[Violation]:
    """At most one violation for each container with one replica, at the option that sets its memory."""
    is_described = context.rules.nodes.decide or context.facts.device_plugin is not None
    if not is_described or context.deferral is not None:
        return
    rooms = _Rooms(context)
    for request in context.requests.positive:
        if request.resource.kind != "shared" or request.billionths != NANO:
            continue
        use = max(memory_uses(request.container), key=lambda one: one.fraction, default=None)
        room = None if use is None else rooms.of(request)
        if use is not None and room is not None and use.fraction > room.fraction:
            yield _violation(context, request, use, room)


class _Rooms:
    """The room of each request of a pod. The nodes are the same for all containers that ask for one resource."""

    def __init__(self, context: PodContext) -> None:
        self._context = context
        self._replicas: dict[str, int] = {}
        self._cards: dict[str, int] = {}

    def of(self, request: ResourceRequest) -> _Room | None:
        """The least room on a node that could take the pod; None if none is known to be too small.

        Time-slicing divides no memory, so that all containers of a card have to leave each other room. Under MPS the
        plugin limits each client, and whether a client sees the limit or the card is not known: only a limit that the
        pod itself sets counts.
        """
        context, name = self._context, request.resource.name
        if name not in self._replicas:
            self._replicas[name] = _replicas(context, request)
        replicas = self._replicas[name]
        if replicas > 1:
            return _Room(1 / replicas, f"a card that {replicas} share")
        limit = _limit(context, request.container)
        if not limit:
            return None
        if name not in self._cards:
            kinds = _kinds(context, request, "mps")
            self._cards[name] = max((kind.labels.mebibytes for kind in kinds), default=0)
        card = self._cards[name]
        if limit >= card:
            return None
        return _Room(limit / card, f"a card of {written(card)}, where its limit is {written(int(limit))}")


def _replicas(context: PodContext, request: ResourceRequest) -> int:
    """The most replicas of a card of a time-sliced node that could take the pod; 0 without such a node."""
    if not context.rules.nodes.known and not context.placement.possible:
        return _configured(context, request)
    return max((kind.replicas for kind in _kinds(context, request, "time-slicing")), default=0)


def _configured(context: PodContext, request: ResourceRequest) -> int:
    """The most replicas of a card by the configuration of the device plugin, while no nodes are known; 0 if unknown.

    A configuration counts if the pod selects time-sliced nodes, or if there is no other that it could land on.
    """
    plugin, lands = context.facts.device_plugin, context.placement.lands(request.resource, "time-slicing")
    if plugin is None or lands is Reachability.NO:
        return 0
    configs = plugin.configs or ()
    is_divided = plugin.default_config == "" or any(config.strategy != "time-slicing" for config in configs)
    if is_divided and lands is not Reachability.YES:
        return 0
    sliced = (config.resources for config in configs if config.strategy == "time-slicing")
    return max((one.replicas for one in chain.from_iterable(sliced) if one.name == request.resource.name), default=0)


def _kinds(context: PodContext, request: ResourceRequest, strategy: SharingStrategy) -> list[NodeKind]:
    """The kinds of the nodes that could take the pod and are known to share the resource through a strategy."""
    placement = context.placement
    nodes = placement.sharing(strategy, request.resource) & ~placement.cluster.index.unknown
    shares = context.rules.memory_shares[request.resource.name]
    return list(shares.among(nodes).kinds) if nodes and shares.is_complete else []


def _limit(context: PodContext, container: Container) -> float:
    """The limit on the memory of the first device that the pod sets, in MiB; 0 without one."""
    entry, annotated = container.variable(MEMORY), annotated_limits(context).get(MEMORY)
    if entry is not None:
        value = entry.get("value")
    elif annotated is not None:
        value = annotated.value
    else:
        size = context.memory_size
        return 0 if size is None or size.obstacle is not None else size.mebibytes
    if isinstance(value, str):
        with suppress(ValueError):
            return next((limit.mebibytes for limit in memory(value) if limit.device == 0), 0)
    return 0


def _violation(context: PodContext, request: ResourceRequest, use: MemoryUse, room: _Room) -> Violation:
    by_default, of_free = " by default" * use.is_default, " of the free memory" * use.is_of_free
    container = request.container
    template = (
        f"{container.kind} {{}}: {use.program or use.option} asks{by_default} for {use.text}{of_free} of {room.card}"
    )
    most = f"{int(room.fraction * 1000) / 1000:g}"
    advice = (
        f"lower {use.option}, so that weights and cache take at most {most} of the card"
        if use.is_of_free
        else f"set {use.option} to at most {most}"
    )
    path = (*container.path, *use.path)
    return Violation(path, message(template, container.label), f"{advice}{whole_cards(context, request)}")


CHECK = Check("GPS024", Severity.WARN, Scope.SHARED, run, "A program takes more of a card's memory than its share")
