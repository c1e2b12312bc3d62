"""The limits on replicas, and which requests of a pod exceed them."""

from __future__ import annotations

from webhook.policy.context import PodContext
from webhook.policy.placement.reachability import Reachability
from webhook.policy.pods.quantity import NANO, is_whole
from webhook.policy.pods.requests import PeakRequest, ResourceRequest
from webhook.policy.verdict import Severity


def over_container(context: PodContext) -> list[ResourceRequest]:
    """The requests for more replicas than a container may have. GPS003 reports amounts that are not whole."""
    limit = context.rules.per_container
    if limit is None:
        return []
    return [
        request
        for request in context.mps_requests
        if request.billionths > limit * NANO and is_whole(request.billionths)
    ]


def replicas_of_pod(context: PodContext) -> int:
    """The pod's replicas, in billionths: all shared resources together, each container capped at its limit."""
    limit = context.rules.per_container
    most = None if limit is None else limit * NANO
    peak = PeakRequest()
    amount = 0
    requests = context.mps_requests
    for index, request in enumerate(requests):
        amount += request.billionths
        if index + 1 < len(requests) and requests[index + 1].container is request.container:
            continue  # the requests of a container are adjacent
        peak.add(request.container.kind, amount if most is None else min(amount, most))
        amount = 0
    return peak.total


def is_over_pod(context: PodContext) -> bool:
    """Whether the pod as a whole asks for more replicas than it may have."""
    limit, each = context.rules.per_pod, context.rules.per_container
    if limit is None or (len(context.mps_requests) == 1 and each is not None and each <= limit):
        return False  # a single request is capped at its container's limit
    return replicas_of_pod(context) > limit * NANO


def cap(context: PodContext, requests: list[ResourceRequest]) -> Severity:
    """The highest severity for a pod over a limit: a warning where a later placement could still make it legal."""
    if not (context.is_suspended or context.pod.elements("schedulingGates")):
        return Severity.DENY
    movable = all(
        not request.resource.renamed and context.placement.lands(request.resource) is Reachability.UNKNOWN
        for request in requests
    )
    return Severity.WARN if movable else Severity.DENY
