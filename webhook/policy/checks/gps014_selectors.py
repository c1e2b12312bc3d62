"""Selector, affinity or taints contradict the request.

Reads: `nodeSelector`, the required node affinity, `nodeName` and `tolerations`; with facts the nodes' own.
Why: no node can satisfy both, so the pod stays Pending for ever.
Remedy: change the selector, or ask for the resource that such nodes offer.
"""

from __future__ import annotations

from webhook.policy.case import Case
from webhook.policy.check import Check, Claims, Scope
from webhook.policy.demand import Ask
from webhook.policy.placement import Lands
from webhook.policy.verdict import Claim, Path, Severity
from webhook.policy.wording import message


def run(case: Case) -> Claims:
    """At most one claim, at the selector."""
    requirement, worlds = case.placement.requirement, case.placement.worlds
    if requirement is not None:
        if not requirement.satisfiable({}):
            said: object = "no node can satisfy the node selector and the required node affinity at once"
            return (Claim(_selector(case), said, "make them agree"),)
        renamed = case.demand.has_renamed and not requirement.satisfiable(worlds.sharing)
        mig = case.demand.has_mig and worlds.labels and not requirement.satisfiable(worlds.other)
        for ask in case.demand.asks if renamed or mig else ():
            if renamed and ask.resource.renamed:
                said = message("{} exists on sharing nodes only, and the selectors exclude those", ask.resource.name)
                return (Claim(_selector(case), said, "select sharing nodes, or ask for nvidia.com/gpu"),)
            if mig and ask.resource.kind == "mig":
                said = message("{} is never offered by MPS nodes, and the selectors want those", ask.resource.name)
                return (Claim(_selector(case), said, "drop the selector, or ask for a shared GPU"),)
    if case.facts.nodes is None:
        return ()
    for ask in case.demand.asks:
        if _nowhere(case, ask):
            said = message("nodes offer {}, but none of them takes the pod", ask.resource.name)
            return (Claim(_selector(case), said, "check selectors, affinity and taints against the nodes"),)
    return ()


def _nowhere(case: Case, ask: Ask) -> bool:
    """Whether known nodes offer the resource, and selectors or taints rule out each of them."""
    placement = case.placement
    if placement.steered and placement.lands(ask.resource) is Lands.NO:
        return False
    offering = placement.index.offering(ask.resource.name, 1)
    return bool(offering) and not offering & placement.admitted


def _selector(case: Case) -> Path:
    for field in ("nodeSelector", "affinity", "nodeName"):
        if case.pod.spec.get(field):
            return (*case.pod.spec_path, field)
    return case.pod.spec_path


CHECK = Check("GPS014", Severity.WARN, Scope.ASKS, run, __doc__)
