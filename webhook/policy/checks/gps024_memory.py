"""A program takes more of a card's memory than its share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

from webhook.policy.context import PodContext
from webhook.policy.injections.limits import annotated_limits
from webhook.policy.launchers.find import memory_uses
from webhook.policy.placement.node_classes import SharingStrategy
from webhook.policy.placement.node_index import NodeKind
from webhook.policy.placement.reachability import Reachability
from webhook.policy.pods.client_limits import memory
from webhook.policy.pods.pod import MEMORY, Container
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import ResourceRequest, share
from webhook.policy.replica_limits import whole_cards
from webhook.policy.verdict import Violation, Violations, message


def run(context: PodContext) -> Violations:
    """At most one violation for each container with one replica, at the option that sets its memory.

    Time-slicing divides no memory, so that all containers of a card have to leave each other room. Under MPS the plugin
    limits each client, and whether a client sees the limit or the card is not known: only a limit that the pod itself
    sets counts.
    """
    is_described = context.placement.cluster.decide or context.policy.facts.device_plugin is not None
    if not is_described or context.deferral is not None:
        return
    cards: dict[str, tuple[int, int]] = {}  # the same for all containers that ask for one resource
    for request in context.requests.positive:
        is_part = request.resource.kind == "whole" and request.annotation is not None  # of KAI's fractioning operator
        if (request.resource.kind != "shared" and not is_part) or request.billionths != NANO:
            continue
        container, name = request.container, request.resource.name
        use = max(memory_uses(container), key=lambda use: use.fraction, default=None)
        if use is None:
            continue
        if name not in cards:
            mebibytes = max((kind.mebibytes for kind in _kinds(context, request, "mps")), default=0)
            cards[name] = 0 if is_part else _replicas(context, request), mebibytes
        replicas, mebibytes = cards[name]
        if replicas > 1:
            fraction, card = 1 / replicas, f"a card that {replicas} share"
        elif 0 < (limit := share(context.pod.annotations) if is_part else _limit(context, container)) < mebibytes:
            fraction = limit / mebibytes
            card = f"a card of {_size(mebibytes)}, where its limit is {_size(int(limit))}"
        else:
            continue
        if use.fraction > fraction:
            by_default = " by default" * use.is_default
            template = f"{container.kind} {{}}: {use.program} asks{by_default} for {use.text} of {card}"
            other = ", or raise the limit" if is_part else whole_cards(context, request)
            remedy = f"set {use.option} to at most {int(fraction * 1000) / 1000:g}{other}"
            yield Violation((*container.path, *use.path), message(template, container.label), remedy)


def _size(mebibytes: int) -> str:
    return f"{mebibytes // 1024}Gi" if mebibytes % 1024 == 0 else f"{mebibytes}Mi"


def _replicas(context: PodContext, request: ResourceRequest) -> int:
    """The most replicas of a card of a time-sliced node that could take the pod; 0 without such a node.

    While no nodes are known, a configuration of the device plugin counts if the pod selects time-sliced nodes, or if
    there is no other that it could land on.
    """
    placement, plugin = context.placement, context.policy.facts.device_plugin
    if placement.cluster.known or placement.possible:
        return max((kind.replicas for kind in _kinds(context, request, "time-slicing")), default=0)
    name, lands = request.resource.name, placement.lands(request.resource, "time-slicing")
    if plugin is None or lands is Reachability.NO:
        return 0
    configs = plugin.configs or ()
    is_divided = plugin.default_config == "" or any(config.strategy != "time-slicing" for config in configs)
    if is_divided and lands is not Reachability.YES:
        return 0
    sliced = (config.resources for config in configs if config.strategy == "time-slicing")
    return max((shared.replicas for shared in chain.from_iterable(sliced) if shared.name == name), default=0)


def _kinds(context: PodContext, request: ResourceRequest, strategy: SharingStrategy) -> Sequence[NodeKind]:
    """The kinds of the nodes that could take the pod and are known to share the resource through a strategy.

    Of whole cards, which KAI's operator divides, those of the nodes that offer them.
    """
    placement, resource = context.placement, request.resource
    sharing = (
        placement.whole_candidates(resource) if resource.kind == "whole" else placement.sharing(strategy, resource)
    )
    nodes = sharing & ~placement.cluster.index.unknown
    return [kind for kind in context.policy.node_kinds[request.resource.name] if kind.nodes & nodes]


def _limit(context: PodContext, container: Container) -> float:
    """The limit on the memory of the first device that the pod sets, in MiB; 0 without one."""
    entry, annotated = container.variable(MEMORY), annotated_limits(context).get(MEMORY)
    value = entry.get("value") if entry is not None else annotated and annotated.value
    if isinstance(value, str):
        with suppress(ValueError):
            return next((limit.mebibytes for limit in memory(value) if limit.device == 0), 0)
    return 0
