"""The violation of GPS014 for a pod that no known node takes: what the pod fails at the nearest node."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.policy.context import PodContext
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.nearest import (
    Apart,
    Elsewhere,
    Failure,
    NearestNode,
    Passing,
    Shortfall,
    Stopped,
    Unmet,
    Untolerated,
)
from webhook.policy.placement.selector import NAME_FIELD, Demand
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.printable import printable
from webhook.policy.verdict import Path, Severity, Violation
from webhook.policy.wording import amount, message


def violations(context: PodContext, selector: Path) -> Iterable[Violation]:
    """One violation if none of the known nodes could take the pod. `selector` is the path of its selectors."""
    placement, cluster = context.placement, context.rules.nodes
    if placement.candidates & placement.left_by_steering:
        return ()
    if not all(name in cluster.index.offered and name not in cluster.dynamic for name in context.requests.names):
        return ()  # GPS013 reports a resource that no node offers; a DeviceClass serves on nodes that are not known
    failure = NearestNode(placement).failure()
    # A queue that chooses the nodes later may add tolerations.
    if failure is None or (context.deferral is not None and isinstance(failure, Untolerated)):
        return ()
    return (_violation(context, failure, selector),)


def _largest(context: PodContext, resource: str) -> ResourceRequest:
    """The largest request for a resource; the first of equals."""
    return max(
        (request for request in context.requests.positive if request.resource.name == resource),
        key=lambda request: request.billionths,
    )


def _violation(context: PodContext, failure: Failure, selector: Path) -> Violation:
    first = context.requests.positive[0].resource.name
    match failure:
        case Passing(node, taint):
            problem = message(
                "no node can take the pod now: the nearest, {}, has the taint {}", node.name, _text(taint)
            )
            return Violation(_tolerations(context), problem, _WAIT, cap=Severity.WARN)
        case Stopped(node, resource):
            problem = message("no node can take the pod now: the nearest, {}, offers 0 of {}", node.name, resource)
            return Violation(_largest(context, resource).path, problem, _WAIT, cap=Severity.WARN)
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
            return Violation(selector, problem, "check selectors, affinity and taints against the nodes")


_WAIT = "none needed if the state passes; else ask an administrator about the node"


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
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _toleration(taint: Taint) -> str:
    """The toleration of exactly this taint, as YAML."""
    value = f'value: "{printable(taint.value)}", ' if taint.value else ""
    return f'{{key: "{printable(taint.key)}", {value}effect: {taint.effect}}}'


def _tolerations(context: PodContext) -> Path:
    return context.pod.path_of("tolerations") if "tolerations" in context.pod.spec else context.pod.spec_path
