"""The node that is nearest to taking a pod, and the violation of GPS014 that says what the pod fails there.

A node is nearer the easier the pod, or time, removes what is in the way: only a passing state; only the amount; only
one taint; only one expression about a label or field; and last, several of these, of which one is reported. Of equally
near nodes the first one counts; where the amount is in the way, the first of those that offer most. The sets of the
node index decide, so that the work does not multiply with the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from webhook.policy.messages import message, printable
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.node_sets import Nodes
from webhook.policy.placement.reachability import Placement
from webhook.policy.placement.selector import NAME_FIELD, Alternative, Expression, alternatives
from webhook.policy.placement.taints import is_lifecycle
from webhook.policy.pods.quantity import NANO, amount
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Path, Severity, Violation


@dataclass(frozen=True, slots=True)
class Passing:
    """Only passing states are in the way, of which the taint shows one."""

    node: Node
    taint: Taint


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nothing but the device plugin is in the way: the node offers none of a resource now, and may offer it again."""

    node: Node
    resource: str


@dataclass(frozen=True, slots=True)
class Shortfall:
    """The node offers less of a resource than the pod asks for: `offered` whole units."""

    node: Node
    resource: str
    offered: int


@dataclass(frozen=True, slots=True)
class Untolerated:
    """The pod does not tolerate a taint. `alone`: nothing else is in the way."""

    node: Node
    taint: Taint
    alone: bool = True


@dataclass(frozen=True, slots=True)
class Unmet:
    """The node does not meet an expression. `alone`: nothing else is in the way."""

    node: Node
    expression: Expression
    alone: bool = True


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The pod names a node that is unknown, or does not offer a resource."""

    resource: str


@dataclass(frozen=True, slots=True)
class Apart:
    """Nodes offer the resource, but none of them offers the others that the pod asks for as well."""

    resource: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """The pod demands more of its node than is listed."""


Failure: TypeAlias = Passing | Stopped | Shortfall | Untolerated | Unmet | Elsewhere | Apart | Unclear


def violations(placement: Placement, selector: Path, *, is_deferred: bool) -> Iterable[Violation]:
    """One violation if none of the known nodes could take the pod. `selector` is the path of its selectors.

    `is_deferred`: a queue that chooses the nodes later may add tolerations.
    """
    failure = _failure(placement)
    if failure is None or (is_deferred and isinstance(failure, Untolerated)):
        return ()
    return (_violation(placement, failure, selector),)


def fewer_units(placement: Placement) -> str | None:
    """The remedy where nothing but an amount is in the way at the nearest node; None otherwise."""
    failure = _failure(placement)
    return _ask_for_less(placement, failure) if isinstance(failure, Shortfall) else None


def _failure(placement: Placement) -> Failure | None:
    cluster = placement.cluster
    if placement.candidates & placement.left_by_steering:
        return None
    if not all(name in cluster.index.offered and name not in cluster.dynamic for name in placement.requests.peaks):
        return None  # GPS013 reports a resource that no node offers; a DeviceClass serves on nodes that are not known
    return NearestNode(placement).failure()


def _ask_for_less(placement: Placement, shortfall: Shortfall) -> str:
    is_alone = placement.requests.peaks[shortfall.resource] == _largest(placement, shortfall.resource).billionths
    return f"ask for at most {shortfall.offered}" + ("" if is_alone else " in all containers together")


def _largest(placement: Placement, resource: str) -> ResourceRequest:
    """The largest request for a resource; the first of equals."""
    requests = [request for request in placement.requests.positive if request.resource.name == resource]
    return max(requests, key=lambda request: request.billionths)


def _violation(placement: Placement, failure: Failure, selector: Path) -> Violation:
    match failure:
        case Passing(node, taint):
            problem = message(
                "no node can take the pod now: the nearest, {}, has the taint {}", node.name, _text(taint)
            )
            return Violation(placement.pod.place_of("tolerations"), problem, _WAIT, cap=Severity.WARN)
        case Stopped(node, resource):
            problem = message("no node can take the pod now: the nearest, {}, offers 0 of {}", node.name, resource)
            return Violation(_largest(placement, resource).path, problem, _WAIT, cap=Severity.WARN)
        case Shortfall(node, resource, offered):
            peak, request = placement.requests.peaks[resource], _largest(placement, resource)
            problem = message(
                f"the pod asks for {amount(peak)} of {{}}; the nearest node, {{}}, has {amount(offered * NANO)}",
                resource,
                node.name,
            )
            return Violation(request.path, problem, _ask_for_less(placement, failure))
        case Untolerated(node, taint, alone):
            remedy = f"if the node is meant for such pods, tolerate {_toleration(taint)}"
            template = f"no node can take the pod: the nearest, {{}}, has the taint {{}}{_more(alone)}"
            return Violation(placement.pod.place_of("tolerations"), message(template, node.name, _text(taint)), remedy)
        case Unmet(node, expression, alone):
            return _unmet(node, expression, alone)
        case Elsewhere(resource):
            name = placement.pod.text("nodeName")
            problem = message("nodeName is {}, which is not a node that offers {}", name, resource)
            return Violation(placement.pod.path_of("nodeName"), problem, "omit nodeName, or name a node that offers it")
        case Apart(resource):
            problem = message("no node offers {} together with the other resources that the pod asks for", resource)
            return Violation(_largest(placement, resource).path, problem, "ask for it in a pod of its own")
        case _:
            first = placement.requests.positive[0].resource.name
            problem = message("nodes offer {}, but none of them can take the pod", first)
            return Violation(selector, problem, "check selectors, affinity and taints against the nodes")


_WAIT = "none needed if the state passes; else ask an administrator about the node"


def _unmet(node: Node, expression: Expression, alone: bool) -> Violation:
    held, key = expression.held_by(node), printable(expression.name)
    names = [str(expression), node.name]
    if expression.key == NAME_FIELD:
        is_so = "the nearest node is {}"
    elif held is None:
        is_so = "the nearest node, {}, lacks the label"
    else:
        is_so = "the nearest node, {}, has {}"
        names.append(held)
    if not expression.is_selector:
        remedy = f"change or remove the expression on {key} in the node affinity"
    elif held is None:
        remedy = f"remove {key} from the node selector"
    else:
        remedy = f'set {key} to "{printable(held)}" in the node selector, or remove it'
    return Violation(expression.path, message(f"the pod requires {{}}, but {is_so}{_more(alone)}", *names), remedy)


def _more(alone: bool) -> str:
    return "" if alone else ", among others"


def _text(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _toleration(taint: Taint) -> str:
    """The toleration of exactly this taint, as YAML."""
    value = f'value: "{printable(taint.value)}", ' if taint.value else ""
    return f'{{key: "{printable(taint.key)}", {value}effect: {taint.effect}}}'


class NearestNode:
    """Why no known node takes a pod that asks for GPUs. Each resource that it asks for is one that some node offers."""

    def __init__(self, placement: Placement) -> None:
        """Raises MalformedError."""
        index = self._index = placement.cluster.index
        self._pod = placement.pod
        self._peaks = placement.requests.peaks
        self._bound = placement.pod.text("nodeName")
        self._named = index.named(self._bound) if self._bound else index.all
        self._selected = placement.selected & placement.left_by_steering
        self._tolerations, self._effects = placement.tolerations(), placement.effects
        self._offering, self._offering_later = placement.offering
        # The pod of a bare container may tolerate anything.
        self._tainted, self._tainted_once, self._passing = (0, 0, 0) if self._pod.is_container else placement.kept_off()

    def failure(self) -> Failure | None:
        """The failure of the pod at the nearest node; None if a node takes the pod.

        A node whose device plugin is not running could take it later, because its amount is unknown.
        """
        admitting = self._selected & ~self._tainted
        if admitting & self._offering_later:
            return self._passing_state(admitting & self._offering_later)
        offering = self._named
        for name in self._peaks:
            if not offering & self._index.offering(name, 1):
                return Elsewhere(name) if self._bound else Apart(name)
            offering &= self._index.offering(name, 1)
        enough = offering & self._offering
        if offering & admitting:
            return self._shortfall(offering & admitting)
        one_taint = enough & self._selected & self._tainted_once
        if one_taint:
            return Untolerated(*self._first_taint(one_taint, self._is_lasting))
        listed = alternatives(self._pod) or ()
        return self._one_unmet(enough & ~self._tainted, listed) or self._one_of_several(
            _first(enough or offering), listed
        )

    def _passing_state(self, nodes: Nodes) -> Passing | Stopped | None:
        """The state that the first of the nodes passes through; None if one of them takes the pod now."""
        if nodes & self._offering & ~self._passing:
            return None
        first = _first(nodes)
        if first & self._passing:
            return Passing(*self._first_taint(first, self._is_untolerated))
        stopped = next(name for name in self._peaks if not first & self._index.offering(name, 1))
        return Stopped(self._node(first), stopped)

    def _shortfall(self, nodes: Nodes) -> Shortfall:
        """The node of a set that offers most of the first resource of which the nodes offer too little."""
        peaks = iter(self._peaks.items())
        name, peak = next(peaks)
        while enough := nodes & self._index.offering(name, peak):  # of some resource there is too little
            nodes, (name, peak) = enough, next(peaks)
        most, having = self._index.most(name, nodes)
        return Shortfall(self._node(having), name, most)

    def _first_taint(self, nodes: Nodes, is_in_the_way: Callable[[Taint], bool]) -> tuple[Node, Taint]:
        """The first node of a set, and the first of its taints that is in the way."""
        node = self._node(nodes)
        return node, next(filter(is_in_the_way, node.taints))

    def _is_untolerated(self, taint: Taint) -> bool:
        return taint.effect in self._effects and not self._tolerations.tolerate(taint)

    def _is_lasting(self, taint: Taint) -> bool:
        return self._is_untolerated(taint) and not is_lifecycle(taint.key)

    def _one_unmet(self, nodes: Nodes, listed: Iterable[Alternative]) -> Unmet | None:
        """The first node of a set that fails one expression of an alternative."""
        for alternative in listed:
            failing = [(expression, self._failing(expression)) for expression in alternative]
            once = twice = 0
            for _, failed in failing:
                twice |= once & failed
                once |= failed
            if nodes & once & ~twice:
                node = _first(nodes & once & ~twice)
                return Unmet(self._node(node), next(expression for expression, failed in failing if failed & node))
        return None

    def _one_of_several(self, node: Nodes, listed: Sequence[Alternative]) -> Untolerated | Unmet | Unclear:
        """One of the failures of a node: the first expression of the first alternative that it fails, else a taint."""
        if node & self._selected:
            return Untolerated(*self._first_taint(node, self._is_lasting), alone=False)
        if not listed:
            return Unclear()
        first = next(expression for expression in listed[0] if self._failing(expression) & node)
        return Unmet(self._node(node), first, alone=False)

    def _failing(self, expression: Expression) -> Nodes:
        return self._index.all & ~self._index.holding(expression.key, expression.constraint)

    def _node(self, nodes: Nodes) -> Node:
        return next(self._index.nodes(_first(nodes)))


def _first(nodes: Nodes) -> Nodes:
    """The first node of a set, as a set of its own."""
    return nodes & -nodes
