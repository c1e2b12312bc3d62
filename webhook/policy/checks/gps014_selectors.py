"""Selector, affinity or taints contradict the request.

Reads: `nodeSelector`, the required node affinity, `nodeName` and `tolerations`; with facts the nodes' own.
Why: no node can satisfy both, so the pod stays Pending for ever.
Remedy: change the selector, or ask for the resource that such nodes offer.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.placement.reachability import Reachability
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Claim, Path, Severity
from webhook.policy.wording import message


def run(context: PodContext) -> Claims:
    """At most one claim, at the selector."""
    requirement, node_classes = context.placement.requirement, context.placement.node_classes
    if requirement is not None:
        if not requirement.satisfiable({}):
            said: object = "no node can satisfy the node selector and the required node affinity at once"
            return (Claim(_selector(context), said, "make them agree"),)
        renamed = context.demand.has_renamed and not requirement.satisfiable(node_classes.sharing)
        mig = context.demand.has_mig and node_classes.labels and not requirement.satisfiable(node_classes.other)
        for ask in context.demand.asks if renamed or mig else ():
            if renamed and ask.resource.renamed:
                said = message("{} exists on sharing nodes only, and the selectors exclude those", ask.resource.name)
                return (Claim(_selector(context), said, "select sharing nodes, or ask for nvidia.com/gpu"),)
            if mig and ask.resource.kind == "mig":
                said = message("{} is never offered by MPS nodes, and the selectors want those", ask.resource.name)
                return (Claim(_selector(context), said, "drop the selector, or ask for a shared GPU"),)
    if context.facts.nodes is None:
        return ()
    for ask in context.demand.asks:
        if _nowhere(context, ask):
            said = message("nodes offer {}, but none of them takes the pod", ask.resource.name)
            return (Claim(_selector(context), said, "check selectors, affinity and taints against the nodes"),)
    return ()


def _nowhere(context: PodContext, ask: ResourceRequest) -> bool:
    """Whether known nodes offer the resource, and selectors or taints rule out each of them."""
    placement = context.placement
    if placement.steered and placement.lands(ask.resource) is Reachability.NO:
        return False
    offering = placement.index.offering(ask.resource.name, 1)
    return bool(offering) and not offering & placement.admitted


def _selector(context: PodContext) -> Path:
    for field in ("nodeSelector", "affinity", "nodeName"):
        if context.pod.spec.get(field):
            return (*context.pod.spec_path, field)
    return context.pod.spec_path


CHECK = Check("GPS014", Severity.WARN, Scope.ASKS, run, __doc__)
