"""Node selector, affinity, taints or the amount contradict the nodes.

Reads: `nodeSelector`, the required node affinity, `nodeName`, `tolerations` and the amount; with facts, the labels,
taints and amounts of nodes.

Why: no node that the pod selects and tolerates offers as much of the resource, so the pod stays Pending. A share under
a name of its own, such as `nvidia.com/gpu.shared`, exists only on nodes that share their GPUs, and MIG resources never
exist on MPS nodes.

With facts, the check names the nearest node and what the pod fails there: the one that fails only the amount, else only
one taint, else only one label; else the first one that offers the resource. A declared node group counts like a node.
If a node is only cordoned, not ready, starting or about to be removed, or offers 0 of its GPU resources because its
device plugin restarts, the check says that no node can take the pod now, and only warns.

Exceptions: the check reports nothing if a DeviceClass serves the resource, or if the controller of the object replaces
a placeholder in the selectors.

Remedy: ask for at most the amount of the node, tolerate the taint, change the selector, or request the resource that
such nodes offer.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.placement.selector import alternatives
from webhook.policy.remedies import sharing_nodes
from webhook.policy.verdict import Path, Severity, Violation
from webhook.policy.wording import message


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
    from webhook.policy.nearest_node import violations  # most command lines know no nodes

    return violations(context, _selector(context))


def _is_replaced(context: PodContext) -> bool:
    """Whether the controller replaces a value of the selectors, so that the nodes are unknown."""
    return any(
        context.is_replaced(value)
        for demands in alternatives(context.pod) or ()
        for demand in demands
        for value in demand.values
    )


def _selector(context: PodContext) -> Path:
    return context.pod.path_of("nodeSelector" if context.pod.spec.get("nodeSelector") else "affinity")


CHECK = Check(
    "GPS014",
    Severity.WARN,
    Scope.GPU,
    run,
    __doc__,
    settings=(
        "placement.mpsLabels",
        "placement.timeSlicingLabels",
        "placement.nodeGroups",
        "placement.groupsAreComplete",
        "injections.tolerations.add",
        "facts.nodes",
        "facts.deviceClasses",
    ),
    sources=(
        "kubernetes/kubernetes:pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go",
        "kubernetes/kubernetes:pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go",
        "kubernetes/kubernetes:pkg/scheduler/framework/plugins/noderesources/fit.go",
    ),
)
