"""The limits on replicas, and which requests of a pod exceed them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import inf
from typing import NamedTuple

from webhook.policy.context import PodContext
from webhook.policy.placement.node_classes import Acceptance, SharingStrategy
from webhook.policy.placement.reachability import Reachability
from webhook.policy.pods.quantity import NANO, is_whole
from webhook.policy.pods.requests import PeakRequest, ResourceRequest
from webhook.policy.settings.settings import Resource
from webhook.policy.verdict import Severity


class Excess(NamedTuple):
    """A request for more replicas than a class of nodes allows: its `limit`, and how the class shares its cards."""

    request: ResourceRequest
    limit: int
    sharing: Sharing


class Sharing(Enum):
    """How nodes share their cards, in the words of messages."""

    MPS = "shared through MPS"
    TIME_SLICING = "time-sliced"


def over_container(context: PodContext) -> list[Excess]:
    """The requests for more replicas than a container may have. GPS003 reports amounts that are not whole."""
    least = context.rules.least_limit
    return [
        excess
        for request in context.requests.positive
        if request.billionths > least and request.resource.kind == "shared" and is_whole(request.billionths)
        if (excess := _excess(context, request)) is not None
    ]


def _excess(context: PodContext, request: ResourceRequest) -> Excess | None:
    asked, resource, placement = request.billionths, request.resource, context.placement
    limit = limit_on(context, "mps", resource)
    if limit is not None and asked > limit * NANO and placement.lands(resource) is not Reachability.NO:
        return Excess(request, limit, Sharing.MPS)
    limit = limit_on(context, "time-slicing", resource)
    if limit is None or asked <= limit * NANO or placement.lands_time_sliced(resource) is Reachability.NO:
        return None
    return Excess(request, limit, Sharing.TIME_SLICING)


def limit_on(context: PodContext, strategy: SharingStrategy, resource: Resource) -> int | None:
    """The limit on a container's replicas where nodes that could take the pod share a resource; None for no limit."""
    limits = context.rules.container_limits
    if not limits.depend_on_nodes:
        return limits.static[strategy]
    return limits.limit(strategy, _acceptance(context, strategy, resource))


def _acceptance(context: PodContext, strategy: SharingStrategy, resource: Resource) -> Acceptance:
    placement, limits = context.placement, context.rules.container_limits
    nodes = placement.sharing(strategy, resource) if placement.cluster.known else 0
    return limits.acceptance(strategy, resource.name, nodes, placement.cluster.index)


def replicas_of_pod(context: PodContext) -> int:
    """The pod's replicas, in billionths: all shared resources together, each container capped at its limit."""
    peak = PeakRequest()
    amount: float = 0
    most: float = 0
    requests = context.mps_requests
    for index, request in enumerate(requests):
        limit = limit_on(context, "mps", request.resource)
        amount += request.billionths
        most = max(most, inf if limit is None else limit * NANO)
        if index + 1 < len(requests) and requests[index + 1].container is request.container:
            continue  # the requests of a container are adjacent
        peak.add(request.container.kind, int(min(amount, most)))
        amount = most = 0
    return peak.total


def is_over_pod(context: PodContext) -> bool:
    """Whether the pod as a whole asks for more replicas than it may have."""
    limit = context.rules.per_pod
    if limit is None or not context.mps_requests:
        return False
    if len(context.mps_requests) == 1:
        each = limit_on(context, "mps", context.mps_requests[0].resource)
        if each is not None and each <= limit:
            return False  # a single request is capped at its container's limit
    if context.rules.container_limits.depend_on_nodes and all(
        _acceptance(context, "mps", request.resource) is Acceptance.MORE for request in context.mps_requests
    ):
        return False  # the plugin lifts the limit of a pod too
    return replicas_of_pod(context) > limit * NANO


def cap(context: PodContext, requests: Sequence[ResourceRequest]) -> Severity:
    """The highest severity for requests over a limit: a warning where the pod could still run."""
    if context.placement.cluster.dynamic and _may_be_dynamic(context, requests):
        return Severity.WARN
    if context.rules.settings.limits.mps_may_accept_more and not _only_time_sliced(context, requests):
        return Severity.WARN
    return Severity.WARN if is_open(context, requests) else Severity.DENY


def _may_be_dynamic(context: PodContext, requests: Sequence[ResourceRequest]) -> bool:
    """Whether a DeviceClass serves the resources on nodes that may be all there are.

    While nodes are unknown, no node with the device plugin need exist. But a pod that requires nodes of a sharing class
    meets the device plugin there.
    """
    placement = context.placement
    return not placement.cluster.known and all(
        request.resource.name in placement.cluster.dynamic
        and placement.lands(request.resource) is not Reachability.YES
        and placement.lands_time_sliced(request.resource) is not Reachability.YES
        for request in requests
    )


def _only_time_sliced(context: PodContext, requests: Sequence[ResourceRequest]) -> bool:
    """Whether every node that could take the pod time-slices."""
    lands = context.placement.lands_time_sliced
    return any(lands(request.resource) is Reachability.YES for request in requests)


def is_open(context: PodContext, requests: Sequence[ResourceRequest]) -> bool:
    """Whether the pod's nodes are chosen later, and could be nodes without a limit on the requests."""
    if context.deferral is None:
        return False
    placement = context.placement
    return all(
        not request.resource.renamed
        and placement.lands(request.resource) is not Reachability.YES
        and (
            limit_on(context, "time-slicing", request.resource) is None
            or placement.lands_time_sliced(request.resource) is not Reachability.YES
        )
        for request in requests
    )
