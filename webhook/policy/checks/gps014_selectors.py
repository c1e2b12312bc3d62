"""Node selector, affinity, taints or the amount contradict the nodes."""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.messages import message
from webhook.policy.placement.selector import alternatives
from webhook.policy.replica_limits import sharing_nodes
from webhook.policy.verdict import Path, Severity, Violation


def run(context: PodContext) -> Violations:
    """At most one violation, at the selector."""
    if context.extracted.place.renders and _is_replaced(context):
        return ()
    requirement, node_classes = context.placement.requirement, context.placement.cluster.classes
    if requirement is not None:
        if not requirement.satisfiable({}):
            problem: object = "no node can satisfy both the node selector and the required node affinity"
            return (Violation(_selector(context), problem, "make them agree"),)
        renamed = context.requests.has_renamed and not node_classes.can_share(requirement)
        mig = context.requests.has_mig and node_classes.mps.required_by(requirement)
        for request in context.requests.positive if renamed or mig else ():
            if renamed and request.resource.renamed:
                problem = message(
                    "{} exists only on nodes that share GPUs, which the selectors exclude", request.resource.name
                )
                return (Violation(_selector(context), problem, sharing_nodes(context)),)
            if mig and request.resource.kind == "mig":
                problem = message("MPS nodes never offer {}, but the selectors require them", request.resource.name)
                return (Violation(_selector(context), problem, "remove the selector, or ask for a shared GPU"),)
    if not context.rules.nodes.known:
        return ()
    from webhook.policy.placement.nearest import violations  # most command lines know no nodes

    return violations(context.placement, _selector(context), is_deferred=context.deferral is not None)


def _is_replaced(context: PodContext) -> bool:
    """Whether the controller replaces a value of the selectors, so that the nodes are unknown."""
    return any(
        context.is_replaced(value)
        for alternative in alternatives(context.pod) or ()
        for expression in alternative
        for value in expression.values
    )


def _selector(context: PodContext) -> Path:
    return context.pod.path_of("nodeSelector" if context.pod.spec.get("nodeSelector") else "affinity")


CHECK = Check(
    "GPS014", Severity.WARN, Scope.GPU, run, "Node selector, affinity, taints or the amount contradict the nodes"
)
