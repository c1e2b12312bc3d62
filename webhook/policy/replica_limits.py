"""The limits on replicas, and what of a case is over them."""

from __future__ import annotations

from webhook.policy.context import PodContext
from webhook.policy.placement.reachability import Reachability
from webhook.policy.pods.quantity import NANO, is_whole
from webhook.policy.pods.requests import ResourceRequest, Tally
from webhook.policy.verdict import Severity


def over_container(context: PodContext) -> list[ResourceRequest]:
    """The asks for more replicas than a container may have. What is not whole is left to GPS003."""
    limit = context.rules.per_container
    if limit is None:
        return []
    return [ask for ask in context.mps if ask.billionths > limit * NANO and is_whole(ask.billionths)]


def replicas_of_pod(context: PodContext) -> int:
    """The pod's replicas, in billionths: all shared resources together, each container capped at its limit."""
    limit = context.rules.per_container
    most = None if limit is None else limit * NANO
    tally = Tally()
    asked = 0
    for index, ask in enumerate(context.mps):
        asked += ask.billionths
        if index + 1 < len(context.mps) and context.mps[index + 1].container is ask.container:
            continue  # a container's asks follow one another
        tally.add(ask.container.kind, asked if most is None else min(asked, most))
        asked = 0
    return tally.total


def is_over_pod(context: PodContext) -> bool:
    """Whether the pod asks for more replicas than it may as a whole."""
    limit, each = context.rules.per_pod, context.rules.per_container
    if limit is None or (len(context.mps) == 1 and each is not None and each <= limit):
        return False  # one ask alone is capped at its container's limit
    return replicas_of_pod(context) > limit * NANO


def cap(context: PodContext, asks: list[ResourceRequest]) -> Severity:
    """The most that a pod over a limit leads to: a warning where a later placement could still make it legal."""
    if not (context.origin.open or context.pod.elements("schedulingGates")):
        return Severity.DENY
    movable = all(
        not ask.resource.renamed and context.placement.lands(ask.resource) is Reachability.UNKNOWN for ask in asks
    )
    return Severity.WARN if movable else Severity.DENY
