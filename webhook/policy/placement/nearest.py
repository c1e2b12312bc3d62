"""The node that is nearest to taking a pod, and the violation of GPS014 that says what the pod fails there.

A node is nearer the easier the pod, or time, removes what is in the way: only a passing state; only the amount; only
one taint; only one expression about a label or field; and last, several of these, of which one is reported. Of equally
near nodes the first one counts; where the amount is in the way, the first of those that offer most. The sets of the
node index decide, so that the work does not multiply with the nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.node_classes import RENAMED
from webhook.policy.placement.node_index import NodeBitset, NodeIndex
from webhook.policy.placement.platforms import shows_gpus
from webhook.policy.placement.reachability import ClusterNodes, Placement
from webhook.policy.placement.selector import NAME_FIELD, Expression, alternatives, is_lifecycle, node_selector
from webhook.policy.pods.gpu_resources import CARD, names_gpu
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.quantity import NANO, amount
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Path, Severity, Violation, Violations, message


class TransientTaint(NamedTuple):
    """Only passing states are in the way, of which the taint shows one."""

    node: Node
    taint: Taint


class PluginDown(NamedTuple):
    """Nothing but the device plugin is in the way: the node offers none of a resource now, and may offer it again."""

    node: Node
    resource: str


class Shortfall(NamedTuple):
    """The node offers less of a resource than the pod asks for: `offered` whole units."""

    node: Node
    resource: str
    offered: int


class Untolerated(NamedTuple):
    """The pod does not tolerate a taint. `alone`: nothing else is in the way."""

    node: Node
    taint: Taint
    alone: bool = True


class Unmet(NamedTuple):
    """The node does not meet an expression. `alone`: nothing else is in the way."""

    node: Node
    expression: Expression
    alone: bool = True


class WrongNodeName(NamedTuple):
    """The pod names a node that is unknown, or does not offer a resource."""

    resource: str


class NoCommonNode(NamedTuple):
    """Nodes offer the resource, but none of them offers the others that the pod asks for as well.

    `node` could take the pod but for the resource, if there is one.
    """

    resource: str
    node: Node | None = None


class Bare(NamedTuple):
    """The selectors admit the node, and no node that they admit lists the resource."""

    node: Node
    resource: str


class TooManyTerms:
    """The pod demands more of its node than is listed."""


Failure: TypeAlias = (
    TransientTaint | PluginDown | Shortfall | Untolerated | Unmet | WrongNodeName | NoCommonNode | Bare | TooManyTerms
)


def violations(placement: Placement, selector: Path, *, is_deferred: bool) -> Violations:
    """One violation if none of the known nodes could take the pod. `selector` is the path of its selectors.

    `is_deferred`: a queue that chooses the nodes later may add tolerations.
    """
    cluster, index, nodes = placement.cluster, placement.cluster.index, placement.candidates
    if any(name in cluster.dynamic or not index.offers(name) for name in placement.requests.peaks):
        return  # GPS013 reports a resource that no node offers; a DeviceClass serves on nodes that are not known
    failure = None if nodes else nearest_failure(placement)
    if failure is not None and not (is_deferred and isinstance(failure, Untolerated)):
        yield described(placement, failure, selector)
    for name, peak in placement.beside.items() if nodes else ():
        nodes &= index.offering(name, peak)
        if not nodes:
            yield described(placement, NoCommonNode(name, next(index.nodes(placement.candidates))), selector)
            return


def offered_instead(cluster: ClusterNodes, resource: str, among: NodeBitset | None = None) -> str | None:
    """The GPU resource that nodes offer in place of one that they do not: that of the other name of a share first."""
    index, nodes, gpus = cluster.index, cluster.index.all if among is None else among, cluster.classes.gpus
    offered = [name for name in sorted(index.offered) if names_gpu(name, gpus) and index.offering(name, 1) & nodes]
    other_name = resource.removesuffix(RENAMED) if resource.endswith(RENAMED) else resource + RENAMED
    return next((name for name in (other_name, CARD) if name in offered), offered[0] if offered else None)


def _largest(placement: Placement, resource: str) -> ResourceRequest:
    """The largest request for a resource; the first of equals."""
    requests = [request for request in placement.requests.positive if request.resource.name == resource]
    return max(requests, key=lambda request: request.billionths)


def described(placement: Placement, failure: Failure, selector: Path) -> Violation:
    """The words for a failure: those of GPS014, and of commands that answer questions about a pod."""
    match failure:
        case TransientTaint(node, taint):
            problem = message("no node can take the pod now: the nearest, {}, has the taint {}", node.name, str(taint))
            return Violation(placement.pod.place_of("tolerations"), problem, _WAIT, cap=Severity.WARN)
        case PluginDown(node, resource):
            problem = message("no node can take the pod now: the nearest, {}, offers 0 of {}", node.name, resource)
            return Violation(_largest(placement, resource).path, problem, _WAIT, cap=Severity.WARN)
        case Shortfall(node, resource, offered):
            peak, request = placement.requests.peaks[resource], _largest(placement, resource)
            problem = message(
                f"the pod asks for {amount(peak)} of {{}}; the nearest node, {{}}, has {amount(offered * NANO)}",
                resource,
                node.name,
            )
            together = "" if peak == request.billionths else " in all containers together"
            return Violation(request.path, problem, f"ask for at most {offered}{together}")
        case Untolerated(node, taint, alone):
            value = f'value: "{printable(taint.value)}", ' if taint.value else ""
            toleration = f'{{key: "{printable(taint.key)}", {value}effect: {taint.effect}}}'
            remedy = f"if the node is meant for such pods, tolerate {toleration}"
            template = f"no node can take the pod: the nearest, {{}}, has the taint {{}}{_more(alone)}"
            return Violation(placement.pod.place_of("tolerations"), message(template, node.name, str(taint)), remedy)
        case Unmet(node, expression, alone):
            return _unmet(placement.pod, node, expression, alone)
        case WrongNodeName(resource):
            name = placement.pod.text("nodeName")
            problem = message("nodeName is {}, which is not a node that offers {}", name, resource)
            return Violation(placement.pod.path_of("nodeName"), problem, "omit nodeName, or name a node that offers it")
        case NoCommonNode(resource, node):
            problem = message("no node offers {} together with the other resources that the pod asks for", resource)
            if node is None:
                return Violation(_largest(placement, resource).path, problem, "ask for it in a pod of its own")
            held = node.resources.get(resource, 0)
            problem = message(f"no node offers {{}} beside GPUs: the nearest, {{}}, has {held}", resource, node.name)
            asking = next(one for one in placement.pod.containers if resource in one.limits or resource in one.requests)
            path = asking.amount_path("limits" if resource in asking.limits else "requests", resource)
            return Violation(path, problem, "ask for it in another pod, or find out why the node does not offer it")
        case Bare(node, resource):
            problem = message("{} meets the selectors, and offers no {}", node.name, resource)
            gpus = placement.cluster.classes.gpus
            there = [name for name, units in node.resources.items() if units and names_gpu(name, gpus)]
            remedy = f"ask for {printable(there[0])}, which it offers" if there else _PLUGIN
            return Violation(_largest(placement, resource).path, problem, remedy, cap=Severity.WARN)
        case _:
            first = placement.requests.positive[0].resource.name
            problem = message("nodes offer {}, but none of them can take the pod", first)
            return Violation(selector, problem, "check selectors, affinity and taints against the nodes")


_WAIT = "ask an administrator about the node if the state does not pass"
_PLUGIN = "if it has GPUs, its device plugin does not run, or not yet; else correct the selectors"


def _unmet(pod: Pod, node: Node, expression: Expression, alone: bool) -> Violation:
    value, key = node.labels.get(expression.key), printable(expression.name)
    names, who, path = [str(expression), node.name], "pod", expression.path
    if expression.is_selector and expression.key not in node_selector(pod):
        who, path = "namespace", pod.place_of("nodeSelector")
    if expression.key == NAME_FIELD:
        is_so = "the nearest node is {}"
    elif value is None:
        is_so = "the nearest node, {}, lacks the label"
    else:
        is_so = "the nearest node, {}, has {}"
        names.append(value)
    if who == "namespace":
        remedy = "use another namespace, or ask the administrator to change the node selector of this one"
    elif not expression.is_selector:
        remedy = f"change or remove the expression on {key} in the node affinity"
    elif value is None:
        remedy = f"remove {key} from the node selector"
    else:
        remedy = f'set {key} to "{printable(value)}" in the node selector, or remove it'
    return Violation(path, message(f"the {who} requires {{}}, but {is_so}{_more(alone)}", *names), remedy)


def _more(alone: bool) -> str:
    return "" if alone else ", among others"


_MOST_BARE = 64
"""Nodes without a resource of which the likeliest is looked for."""


def nearest_failure(placement: Placement) -> Failure | None:
    """What the pod fails at the nearest node; None if a node takes it. Some node offers each resource that it asks for.

    A node whose device plugin is not running could take it later, because its amount is unknown. Raises MalformedError.
    """
    index, pod, peaks = placement.cluster.index, placement.pod, placement.requests.peaks
    selected, (offering_now, offering_later) = placement.selected, placement.offering
    # The pod of a bare container may tolerate anything.
    tainted, tainted_once, passing = (0, 0, 0) if pod.is_container else placement.kept_off
    admitting = selected & ~tainted
    if possible := admitting & offering_later:
        if possible & offering_now & ~passing:
            return None
        first = _first(possible)
        if first & passing:
            return TransientTaint(*_tainted(placement, first, passing=True))
        stopped = next(name for name in peaks if not first & index.offering(name, 1))
        return PluginDown(next(index.nodes(first)), stopped)
    bound = pod.text("nodeName")
    unlisted = next((name for name in peaks if not selected & index.listing(name)), None)
    if selected and unlisted is not None and not bound and placement.requirement is not None:
        likely = list(islice(index.nodes(admitting or selected), _MOST_BARE))  # one whose labels show GPUs is likeliest
        return Bare(next((one for one in likely if shows_gpus(one.labels, one.taints)), likely[0]), unlisted)
    offering = index.named(bound) if bound else index.all
    for name in peaks:
        if not offering & index.offering(name, 1):
            return WrongNodeName(name) if bound else NoCommonNode(name)
        offering &= index.offering(name, 1)
    if short := offering & admitting:
        return _shortfall(placement, short)
    enough = offering & offering_now
    if one_taint := enough & selected & tainted_once:
        return Untolerated(*_tainted(placement, one_taint, passing=False))
    listed = alternatives(pod, placement.namespace_selector) or ()
    if unmet := _one_unmet(index, enough & ~tainted, listed):
        return unmet
    # The node fails for several reasons, of which the first is reported: an expression, else a taint.
    first = _first(enough or offering)
    if first & selected:
        return Untolerated(*_tainted(placement, first, passing=False), alone=False)
    if not listed:
        return TooManyTerms()
    expression = next(expression for expression in listed[0] if _failing(index, expression) & first)
    return Unmet(next(index.nodes(first)), expression, alone=False)


def _shortfall(placement: Placement, short: NodeBitset) -> Shortfall:
    """The node of a set that offers most of the first resource of which the nodes offer too little."""
    index, peaks = placement.cluster.index, iter(placement.requests.peaks.items())
    name, peak = next(peaks)
    while enough := short & index.offering(name, peak):
        short, (name, peak) = enough, next(peaks)
    most, having = index.most(name, short)
    return Shortfall(next(index.nodes(having)), name, most)


def _one_unmet(index: NodeIndex, nodes: NodeBitset, listed: Iterable[Sequence[Expression]]) -> Unmet | None:
    """The first node of a set that fails one expression of an alternative."""
    for alternative in listed:
        failing = [(expression, _failing(index, expression)) for expression in alternative]
        once = twice = 0
        for _, failed in failing:
            twice |= once & failed
            once |= failed
        if first := _first(nodes & once & ~twice):
            unmet = next(expression for expression, failed in failing if failed & first)
            return Unmet(next(index.nodes(first)), unmet)
    return None


def _tainted(placement: Placement, nodes: NodeBitset, *, passing: bool) -> tuple[Node, Taint]:
    """The first node of a set, and the first of its taints that nothing tolerates, and that pass or last."""
    node, tolerations = next(placement.cluster.index.nodes(nodes)), placement.tolerations()
    return node, next(
        taint
        for taint in node.taints
        if taint.effect in placement.effects and is_lifecycle(taint.key) is passing and not tolerations.tolerate(taint)
    )


def _failing(index: NodeIndex, expression: Expression) -> NodeBitset:
    return index.all & ~index.holding(expression.key, expression.constraint)


def _first(nodes: NodeBitset) -> NodeBitset:
    """The first node of a set, as a set of its own."""
    return nodes & -nodes
