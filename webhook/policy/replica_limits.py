"""The limits on replicas, which requests of a pod exceed them, and the remedies, which depend on the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from webhook.policy.context import PodContext
from webhook.policy.messages import printable
from webhook.policy.placement.node_classes import SharingStrategy
from webhook.policy.placement.platforms import Manager, manager_by_resources, manager_of
from webhook.policy.placement.reachability import Placement, Reachability
from webhook.policy.pods.quantity import NANO, is_whole
from webhook.policy.pods.requests import ResourceRequest, peak
from webhook.policy.settings.settings import Resource
from webhook.policy.verdict import Severity


def manager_of_unnamed_cluster(context: PodContext) -> Manager | None:
    """The scheduler that may manage a pod of a cluster that nothing describes; None where anything does.

    Any author can set a marker. So it counts only on a command line that knows nothing of the cluster.
    """
    return manager_of(context.pod) if context.policy.trusts_markers else None


def for_manager(context: PodContext) -> str:
    """To describe the cluster of the scheduler that manages a pod, with the words that join it to another remedy.

    Where the cluster is known, only resources that another device plugin serves show that.
    """
    manager = manager_of_unnamed_cluster(context) or manager_by_resources(context.pod)
    return "" if manager is None else f"; for a cluster that {manager.name} manages, {manager.remedy}"


_SHARED: Mapping[SharingStrategy, str] = {"mps": "shared through MPS", "time-slicing": "time-sliced"}


def over_container(context: PodContext) -> list[tuple[ResourceRequest, int, str]]:
    """The requests for more replicas than a container may have. GPS003 reports amounts that are not whole.

    With each come the limit of a class of nodes, and how these share the resource, in words of messages.
    """
    least, placement = context.policy.container_limits.least, context.placement
    over = []
    for request in context.requests.positive:
        amount, resource = request.billionths, request.resource
        if amount <= least or resource.kind != "shared" or not is_whole(amount):
            continue
        for strategy, shared in _SHARED.items():
            limit = limit_on(context, strategy, resource)
            if limit is None or amount <= limit * NANO:
                continue
            if placement.lands(resource, strategy) is not Reachability.NO:
                over.append((request, limit, shared))
                break
    return over


def limit_on(context: PodContext, strategy: SharingStrategy, resource: Resource) -> int | None:
    """The limit on a container's replicas where nodes that could take the pod share a resource; None for no limit."""
    limits = context.policy.container_limits
    return limits.limit(strategy, limits.allow_several(context.placement, strategy, resource))


def exceeds_limit(context: PodContext, request: ResourceRequest, billionths: int) -> bool:
    """Whether a container could get a share through MPS, and an amount exceeds the limit on its replicas there."""
    if request.resource.kind != "shared" or context.placement.lands(request.resource) is Reachability.NO:
        return False
    limit = limit_on(context, "mps", request.resource)
    return limit is not None and billionths > limit * NANO


def exceeded_by_pod(context: PodContext) -> tuple[int, int] | None:
    """The limit on a pod's replicas, and its replicas in billionths, if these exceed the limit.

    They are those of all shared resources together, each container capped at its limit.
    """
    limit, requests = context.policy.limits.per_pod, context.mps_requests
    if limit is None or not requests:
        return None
    if len(requests) == 1:
        each = limit_on(context, "mps", requests[0].resource)
        if each is not None and each <= limit:
            return None  # a single request is capped at its container's limit
    allow_several = context.policy.container_limits.allow_several
    if all(allow_several(context.placement, "mps", request.resource) for request in requests):
        return None  # the plugin lifts the limit of a pod too
    amounts = []
    for container, adjacent in groupby(requests, lambda request: request.container):
        own = list(adjacent)
        amount = sum(request.billionths for request in own)
        limits = [limit_on(context, "mps", request.resource) for request in own]
        in_force = [each * NANO for each in limits if each is not None]
        amounts.append((container.kind, amount if len(in_force) < len(limits) else min(amount, max(in_force))))
    replicas = peak(amounts)
    return (limit, replicas) if replicas > limit * NANO else None


def ruling(
    context: PodContext,
    manager: Manager | None,
    requests: Sequence[ResourceRequest],
    limit: int,
    shares: str,
    must_not: str,
    where: str,
) -> tuple[str, Severity]:
    """The rule that requests over a limit break, and their highest severity: a warning where the pod could still run.

    `manager`: the scheduler that may manage the pod, and to which the limit does not apply if it `shares` GPUs. Nodes
    that are chosen later `must_not` share them; else the limit applies `where` nodes do. These are words of messages.
    """
    if manager is not None:
        return f"the limit is {limit} unless {manager.name} {shares}", Severity.WARN
    cluster, lands = context.placement.cluster, context.placement.lands
    # Where nodes are unknown and nothing shows any, no node with the device plugin need exist, and those that a
    # DeviceClass serves may be all there are. But a pod that requires nodes of a sharing class meets the device plugin.
    is_dynamic_at_most = not (cluster.known or cluster.are_shown) and all(
        request.resource.name in cluster.dynamic
        and lands(request.resource) is not Reachability.YES
        and lands(request.resource, "time-slicing") is not Reachability.YES
        for request in requests
    )
    may_be_accepted = context.policy.limits.mps_may_accept_more and not any(
        lands(request.resource, "time-slicing") is Reachability.YES for request in requests
    )
    is_open = _is_open(context, requests)
    could_run = is_dynamic_at_most or may_be_accepted or is_open
    rule = f"nodes chosen later must not {must_not}" if is_open else f"the limit is {limit} where {where}"
    return rule, Severity.WARN if could_run else Severity.DENY


def _is_open(context: PodContext, requests: Sequence[ResourceRequest]) -> bool:
    """Whether the pod's nodes are chosen later, and could be nodes without a limit on the requests."""
    if context.deferral is None:
        return False
    placement = context.placement
    return all(
        not request.resource.renamed
        and placement.lands(request.resource) is not Reachability.YES
        and (
            limit_on(context, "time-slicing", request.resource) is None
            or placement.lands(request.resource, "time-slicing") is not Reachability.YES
        )
        for request in requests
    )


def whole_cards(context: PodContext, request: ResourceRequest) -> str:
    """To keep the pod on nodes with whole cards, with the words that join it to another remedy; empty if none helps."""
    placement, resource = context.placement, request.resource
    classes, exclusion = placement.cluster.classes, placement.cluster.whole_cards.text
    if resource.renamed or context.pod.is_container:
        return ""  # only sharing nodes offer it, or it is a bare container, which selects no nodes
    if not classes.mps.labels or not placement.could_move_to_whole():
        return ""  # any node could be an MPS node, or the pod selects nodes that share their cards
    if not placement.cluster.known:
        return f", or, if the cluster has whole cards, require them by node affinity: {exclusion}"
    if resource.name in placement.cluster.dynamic:
        if placement.cluster.index.undiscovered:
            return ""  # nodes of the DeviceClass need not have the label that only discovered nodes have
        return f", or keep the pod off nodes that share GPUs by node affinity: {exclusion}"
    if not placement.whole_candidates(resource):
        whole = "known to have whole cards" if placement.cluster.index.unknown else "with whole cards"
        return f"; no node {whole} could take the pod{_counts(placement, resource)}"
    return f", or require whole cards{_counts(placement, resource)} by node affinity: {exclusion}"


def unless_namespace_selects(context: PodContext, request: ResourceRequest) -> str:
    """That the namespace may still lead pods of a template to nodes with whole cards; empty if it cannot."""
    placement, policy = context.placement, context.policy
    is_final = context.extracted.is_pod or policy.namespace_labels is not None  # the API server has added the selector
    if is_final or request.resource.renamed or context.pod.is_container or not placement.could_move_to_whole():
        return ""
    if placement.cluster.known and not placement.whole_candidates(request.resource):
        return ""
    return " unless the namespace selects nodes"


def _counts(placement: Placement, resource: Resource) -> str:
    """How many of the known nodes that could take the pod share the resource, and how many do not, in parentheses."""
    known = ~placement.cluster.index.unknown
    counted = (
        (placement.sharing("mps", resource) & known, "shares it through MPS", "share it through MPS"),
        (placement.sharing("time-slicing", resource) & known, "time-slices it", "time-slice it"),
        (placement.whole_candidates(resource), "offers whole cards", "offer whole cards"),
    )
    counts = [
        f"1 node {singular}" if nodes.bit_count() == 1 else f"{nodes.bit_count()} nodes {plural}"
        for nodes, singular, plural in counted
        if nodes
    ]
    return f" ({', '.join(counts)})" if counts else ""


def unknown_node(context: PodContext, request: ResourceRequest) -> str:
    """To find out how a node shares its cards that could take the pod; empty if that is known of all of them."""
    placement, index = context.placement, context.placement.cluster.index
    unknown = placement.sharing("mps", request.resource) & index.unknown
    if not unknown:
        return ""
    undiscovered = unknown & ~index.incomplete
    node = printable(next(index.nodes(undiscovered or unknown)).name)
    count = unknown.bit_count() - 1
    others = f" (and {count} other{'s' * (count > 1)})" if count else ""
    return f'; node "{node}"{others} may share its cards, because {_UNDISCOVERED if undiscovered else _INCOMPLETE}'


_UNDISCOVERED = "no label shows its class: run GPU feature discovery, or set placement.nodeGroups or facts.devicePlugin"
_INCOMPLETE = "it has more labels, taints or resources than are kept: remove some"
