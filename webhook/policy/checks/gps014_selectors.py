"""Node selector, affinity or taints contradict the request.

Reads: `nodeSelector`, the required node affinity, `nodeName` and `tolerations`; with facts, the nodes' labels and
taints.
Why: no node that the pod selects and tolerates offers the resource, so the pod stays Pending. A share under a name of
its own, such as `nvidia.com/gpu.shared`, exists only on nodes that share their GPUs, and MIG resources never exist on
MPS nodes.
Remedy: change the selector, tolerate the taint, or request the resource that such nodes offer.
Settings: `placement.mpsLabels`, `placement.timeSlicingLabels`, `placement.nodeGroups`, `injections.tolerations.add`.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.placement.reachability import Reachability
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.remedies import sharing_nodes
from webhook.policy.verdict import Path, Severity, Violation
from webhook.policy.wording import message


def run(context: PodContext) -> Violations:
    """At most one violation, at the selector."""
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
    if context.facts.nodes is None:
        return ()
    for request in context.requests.positive:
        if _nowhere(context, request):
            problem = message("nodes offer {}, but none of them can take the pod", request.resource.name)
            return (Violation(_selector(context), problem, "check selectors, affinity and taints against the nodes"),)
    return ()


def _nowhere(context: PodContext, request: ResourceRequest) -> bool:
    """Whether known nodes offer the resource, but selectors or taints exclude all of them."""
    placement = context.placement
    if placement.steered and placement.lands(request.resource) is Reachability.NO:
        return False
    offering = placement.cluster.index.offering(request.resource.name, 1)
    return bool(offering) and not offering & placement.admitted


def _selector(context: PodContext) -> Path:
    for field in ("nodeSelector", "affinity", "nodeName"):
        if context.pod.spec.get(field):
            return (*context.pod.spec_path, field)
    return context.pod.spec_path


CHECK = Check("GPS014", Severity.WARN, Scope.GPU, run, __doc__)
