"""The limits on replicas, and what of a case is over them."""

from __future__ import annotations

from webhook.policy.case import Case
from webhook.policy.demand import Ask, Tally
from webhook.policy.placement import Lands
from webhook.policy.quantity import NANO, is_whole
from webhook.policy.verdict import Severity


def over_container(case: Case) -> list[Ask]:
    """The asks for more replicas than a container may have. What is not whole is left to GPS003."""
    limit = case.rules.per_container
    if limit is None:
        return []
    return [ask for ask in case.mps if ask.billionths > limit * NANO and is_whole(ask.billionths)]


def replicas_of_pod(case: Case) -> int:
    """The pod's replicas, in billionths: all shared resources together, each container capped at its limit."""
    limit = case.rules.per_container
    most = None if limit is None else limit * NANO
    tally = Tally()
    asked = 0
    for index, ask in enumerate(case.mps):
        asked += ask.billionths
        if index + 1 < len(case.mps) and case.mps[index + 1].container is ask.container:
            continue  # a container's asks follow one another
        tally.add(ask.container.kind, asked if most is None else min(asked, most))
        asked = 0
    return tally.total


def is_over_pod(case: Case) -> bool:
    """Whether the pod asks for more replicas than it may as a whole."""
    limit, each = case.rules.per_pod, case.rules.per_container
    if limit is None or (len(case.mps) == 1 and each is not None and each <= limit):
        return False  # one ask alone is capped at its container's limit
    return replicas_of_pod(case) > limit * NANO


def cap(case: Case, asks: list[Ask]) -> Severity:
    """The most that a pod over a limit leads to: a warning where a later placement could still make it legal."""
    if not (case.origin.open or case.pod.elements("schedulingGates")):
        return Severity.DENY
    movable = all(not ask.resource.renamed and case.placement.lands(ask.resource) is Lands.UNKNOWN for ask in asks)
    return Severity.WARN if movable else Severity.DENY
