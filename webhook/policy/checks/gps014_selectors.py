"""Node selector, affinity, taints or the amount contradict the nodes.

Reads: `nodeSelector`, the required node affinity, `nodeName`, `tolerations` and the amount; with facts, the labels,
taints and amounts of nodes.

Why: no node that the pod selects and tolerates offers as much of the resource, so the pod stays Pending. A share under
a name of its own, such as `nvidia.com/gpu.shared`, exists only on nodes that share their GPUs, and MIG resources never
exist on MPS nodes.

With facts, the check names the nearest node and what the pod fails there: the one that fails only the amount, else only
one taint, else only one label; else the first one that offers the resource. A declared node group counts like a node.
If a node is only cordoned, not ready, starting or about to be removed, the check says that no node can take the pod
now.

Exceptions: the check reports nothing if a node could take the pod that offers 0 of its GPU resources at the moment, for
example while its device plugin restarts, if a DeviceClass serves the resource, or if the controller of the object
replaces a placeholder in the selectors.

Remedy: ask for at most the amount of the node, tolerate the taint, change the selector, or request the resource that
such nodes offer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.placement.demands import Demand, alternatives
from webhook.policy.placement.nearest import (
    Apart,
    Elsewhere,
    Failure,
    NearestNode,
    Passing,
    Shortfall,
    Unmet,
    Untolerated,
)
from webhook.policy.placement.selector import NAME_FIELD
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.printable import printable
from webhook.policy.remedies import sharing_nodes
from webhook.policy.verdict import Path, Severity, Violation
from webhook.policy.wording import amount, message

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Node, Taint


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
    return _of_nearest(context) if context.rules.nodes.known else ()


def _is_replaced(context: PodContext) -> bool:
    """Whether the controller replaces a value of the selectors, so that the nodes are unknown."""
    return any(
        context.is_replaced(value)
        for demands in alternatives(context.pod) or ()
        for demand in demands
        for value in demand.values
    )


def _of_nearest(context: PodContext) -> Violations:
    """One violation if none of the known nodes could take the pod."""
    placement, cluster = context.placement, context.rules.nodes
    if placement.steered or placement.candidates:
        return ()
    if not all(name in cluster.index.offered and name not in cluster.dynamic for name in context.requests.names):
        return ()  # GPS013 reports a resource that no node offers; a DeviceClass serves on nodes that are not known
    failure = NearestNode(placement).failure()
    # A queue that chooses the nodes later may add tolerations.
    if failure is None or (context.deferral is not None and isinstance(failure, Untolerated)):
        return ()
    return (_violation(context, failure),)


def _largest(context: PodContext, resource: str) -> ResourceRequest:
    """The largest request for a resource; the first of equals."""
    return max(
        (request for request in context.requests.positive if request.resource.name == resource),
        key=lambda request: request.billionths,
    )


def _violation(context: PodContext, failure: Failure) -> Violation:
    """What the pod fails at the nearest node."""
    first = context.requests.positive[0].resource.name
    match failure:
        case Passing(node, taint):
            problem = message(
                "no node can take the pod now: the nearest, {}, has the taint {}", node.name, _text(taint)
            )
            remedy = "none needed if the state passes; else ask an administrator about the node"
            return Violation(_tolerations(context), problem, remedy, cap=Severity.WARN)
        case Shortfall(node, resource, offered):
            peak, request = context.requests.peak(resource), _largest(context, resource)
            problem = message(
                f"the pod asks for {amount(peak)} of {{}}; the nearest node, {{}}, has {amount(offered * NANO)}",
                resource,
                node.name,
            )
            others = "" if peak == request.billionths else " in all containers together"
            return Violation(request.path, problem, f"ask for at most {offered}{others}")
        case Untolerated(node, taint, alone):
            problem = message(
                f"no node can take the pod: the nearest, {{}}, has the taint {{}}{_more(alone)}",
                node.name,
                _text(taint),
            )
            return Violation(
                _tolerations(context), problem, f"if the node is meant for such pods, tolerate {_toleration(taint)}"
            )
        case Unmet(node, demand, alone):
            return _unmet(node, demand, alone)
        case Elsewhere(resource):
            name = context.pod.text("nodeName")
            problem = message("nodeName is {}, which is not a node that offers {}", name, resource)
            return Violation(context.pod.path_of("nodeName"), problem, "omit nodeName, or name a node that offers it")
        case Apart(resource):
            problem = message("no node offers {} together with the other resources that the pod asks for", resource)
            return Violation(_largest(context, resource).path, problem, "ask for it in a pod of its own")
        case _:
            problem = message("nodes offer {}, but none of them can take the pod", first)
            return Violation(_selector(context), problem, "check selectors, affinity and taints against the nodes")


def _unmet(node: Node, demand: Demand, alone: bool) -> Violation:
    """The demand that the nearest node does not meet."""
    held, key = demand.held_by(node), printable(demand.name)
    names = [str(demand), node.name]
    if demand.key == NAME_FIELD:
        is_so = "the nearest node is {}"
    elif held is None:
        is_so = "the nearest node, {}, lacks the label"
    else:
        is_so = "the nearest node, {}, has {}"
        names.append(held)
    if not demand.is_selector:
        remedy = f"change or remove the expression on {key} in the node affinity"
    elif held is None:
        remedy = f"remove {key} from the node selector"
    else:
        remedy = f'set {key} to "{printable(held)}" in the node selector, or remove it'
    return Violation(demand.path, message(f"the pod requires {{}}, but {is_so}{_more(alone)}", *names), remedy)


def _more(alone: bool) -> str:
    return "" if alone else ", among others"


def _text(taint: Taint) -> str:
    """The taint as kubectl writes it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _toleration(taint: Taint) -> str:
    """The toleration of exactly this taint, as YAML."""
    value = f'value: "{printable(taint.value)}", ' if taint.value else ""
    return f'{{key: "{printable(taint.key)}", {value}effect: {taint.effect}}}'


def _tolerations(context: PodContext) -> Path:
    return context.pod.path_of("tolerations") if "tolerations" in context.pod.spec else context.pod.spec_path


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
