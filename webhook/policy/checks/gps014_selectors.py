"""Node selector, affinity, taints or the amount contradict the nodes."""

from __future__ import annotations

from webhook.policy.context import PodContext
from webhook.policy.placement.selector import alternatives
from webhook.policy.verdict import Violation, Violations, message


def run(context: PodContext) -> Violations:
    """At most one violation, at the selector."""
    if context.extracted.place.renders and any(
        context.is_replaced(value)  # so that the nodes are unknown
        for alternative in alternatives(context.pod) or ()
        for expression in alternative
        for value in expression.values
    ):
        return ()
    requirement, cluster = context.placement.requirement, context.placement.cluster
    if requirement is None and not cluster.known:
        return ()
    selector = context.pod.place_of("nodeSelector" if context.pod.spec.get("nodeSelector") else "affinity")
    if requirement is not None:
        if not requirement.satisfiable({}):
            said = "no node can satisfy both the node selector and the required node affinity"
            return (Violation(selector, said, "make them agree"),)
        if context.requests.has_renamed and not cluster.classes.can_share(requirement):
            name = next(one.resource.name for one in context.requests.positive if one.resource.renamed)
            problem = message("{} exists only on nodes that share GPUs, which the selectors exclude", name)
            known = context.policy.resources.values()
            base = next((f", or ask for {one.name}" for one in known if one.kind == "shared" and not one.renamed), "")
            return (Violation(selector, problem, f"remove the selectors that exclude these nodes{base}"),)
        if context.requests.has_mig and cluster.classes.mps.required_by(requirement):
            name = next(one.resource.name for one in context.requests.positive if one.resource.kind == "mig")
            problem = message("MPS nodes never offer {}, but the selectors require them", name)
            return (Violation(selector, problem, "remove the selector, or ask for a shared GPU"),)
    if not cluster.known:
        return ()
    from webhook.policy.placement.nearest import violations  # most command lines know no nodes

    return violations(context.placement, selector, is_deferred=context.deferral is not None)
