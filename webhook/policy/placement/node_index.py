"""Known nodes, indexed by what pods select them by, so that the work for a pod does not multiply with the nodes.

A set of nodes is an integer with one bit per node, so intersecting the sets of two selectors is one operation, however
many nodes there are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from webhook.policy.placement.facts import Node, Taint
from webhook.policy.placement.node_classes import NodeClasses
from webhook.policy.placement.selector import NAME_FIELD, Constraint, Requirement, integer
from webhook.policy.placement.tolerations import Tolerations
from webhook.policy.pods.quantity import NANO

_Key = TypeVar("_Key", bound=Hashable)

Nodes = int
"""A set of nodes: bit n stands for the n-th node of the index."""


def _put(sets: dict[_Key, Nodes], key: _Key, bit: int) -> None:
    sets[key] = sets.get(key, 0) | 1 << bit


def _union(sets: Iterable[Nodes]) -> Nodes:
    union = 0
    for nodes in sets:
        union |= nodes
    return union


def _at_or_above(sets: Iterable[tuple[int, Nodes]]) -> tuple[list[int], list[Nodes]]:
    """The numbers in rising order, and for each index the nodes whose number has that index or a higher one."""
    numbers, from_here_on = [], [0]
    for number, nodes in sorted(sets, reverse=True):
        numbers.append(number)
        from_here_on.append(from_here_on[-1] | nodes)
    return numbers[::-1], from_here_on[::-1]


class _Label:
    """The nodes that carry one label, by its value, and by its value as a number."""

    __slots__ = ("_above", "_numbers", "by_value", "present")

    def __init__(self, by_value: Mapping[str, Nodes]) -> None:
        self.by_value = by_value
        self.present = _union(by_value.values())
        self._numbers, self._above = _at_or_above(
            (number, nodes) for value, nodes in by_value.items() if (number := integer(value)) is not None
        )

    def between(self, above: int | None, below: int | None) -> Nodes:
        """The nodes whose value is a number above the one and below the other."""
        nodes = self._above[0 if above is None else bisect_right(self._numbers, above)]
        return nodes if below is None else nodes & ~self._above[bisect_left(self._numbers, below)]


_NO_LABEL = _Label({})


class NodeIndex:
    """Nodes and declared node groups. `mps`: those that could be MPS nodes. `time_sliced`: those that time-slice.

    `offered`: the resources of all of them.
    """

    __slots__ = ("_amounts", "_labels", "_nodes", "_taints", "all", "mps", "offered", "time_sliced")

    def __init__(self, nodes: Sequence[Node], node_classes: NodeClasses) -> None:
        self._nodes = tuple(nodes)
        self.all: Nodes = (1 << len(self._nodes)) - 1
        self.mps = self._those(node_classes.is_mps)
        self.time_sliced = self._those(node_classes.is_time_sliced)
        labels: dict[str, dict[str, Nodes]] = {}
        self._taints: dict[Taint, Nodes] = {}
        amounts: dict[str, dict[int, Nodes]] = {}
        for bit, node in enumerate(self._nodes):
            for key, value in (*node.labels.items(), (NAME_FIELD, node.name)):
                _put(labels.setdefault(key, {}), value, bit)
            for taint in node.taints:
                _put(self._taints, taint, bit)
            for resource, amount in node.resources.items():
                _put(amounts.setdefault(resource, {}), amount, bit)
        self._labels = {key: _Label(values) for key, values in labels.items()}
        self._amounts = {resource: _at_or_above(by_amount.items()) for resource, by_amount in amounts.items()}
        self.offered = frozenset(amounts)

    def _those(self, is_member: Callable[[Node], bool]) -> Nodes:
        return _union(1 << bit for bit, node in enumerate(self._nodes) if is_member(node))

    @property
    def taint_keys(self) -> frozenset[str]:
        """The keys of all taints."""
        return frozenset(taint.key for taint in self._taints)

    def nodes(self, chosen: Nodes) -> Iterator[Node]:
        """The nodes of a set, in their order."""
        bits = f"{chosen:b}"[::-1]  # shifting a large number bit by bit would cost its whole length each time
        place = bits.find("1")
        while place >= 0:
            yield self._nodes[place]
            place = bits.find("1", place + 1)

    def named(self, name: str) -> Nodes:
        """The nodes of this name."""
        return self._labels.get(NAME_FIELD, _NO_LABEL).by_value.get(name, 0)

    def offering(self, resource: str, billionths: int) -> Nodes:
        """The nodes that offer at least this amount of a resource; all nodes for an amount of 0."""
        if billionths <= 0:
            return self.all
        if resource not in self._amounts:
            return 0
        amounts, at_least = self._amounts[resource]
        return at_least[bisect_left(amounts, -(-billionths // NANO))]

    def selected(self, requirement: Requirement) -> Nodes:
        """The nodes whose labels and name satisfy a requirement."""
        chosen = self.all
        for key, value in requirement.selector.items():
            chosen &= self._labels.get(key, _NO_LABEL).by_value.get(value, 0)
            if not chosen:
                return 0
        if requirement.terms is None:
            return chosen
        return _union(self._meeting(term, chosen) for term in requirement.terms)

    def _meeting(self, term: Mapping[str, Constraint], chosen: Nodes) -> Nodes:
        for key, constraint in term.items():
            chosen &= self.holding(key, constraint)
            if not chosen:
                return 0
        return chosen

    def holding(self, key: str, constraint: Constraint) -> Nodes:
        """The nodes whose label, or field, satisfies a constraint."""
        label = self._labels.get(key, _NO_LABEL)
        nodes = self.all
        if constraint.values is not None:
            nodes = _union(label.by_value.get(value, 0) for value in constraint.values)
        if constraint.excluded:
            nodes &= ~_union(label.by_value.get(value, 0) for value in constraint.excluded)
        if constraint.present:
            nodes &= label.present
        if constraint.absent:
            nodes &= ~label.present
        if constraint.above is not None or constraint.below is not None:
            nodes &= label.between(constraint.above, constraint.below)
        return nodes

    def listing(self, resource: str) -> Nodes:
        """The nodes that list a resource, even with an amount of 0."""
        return self._amounts[resource][1][0] if resource in self._amounts else 0

    @property
    def stopped(self) -> Nodes:
        """The nodes with an amount of 0 of every resource that they list.

        The kubelet reports 0 while no device plugin is connected (kubernetes/kubernetes
        pkg/kubelet/cm/devicemanager GetCapacity), for example while the plugin restarts.
        """
        listed = _union(at_least[0] for _, at_least in self._amounts.values())
        return listed & ~_union(self.offering(resource, 1) for resource in self._amounts)

    def most(self, resource: str, among: Nodes) -> tuple[int, Nodes]:
        """The highest amount of a resource that nodes of a set offer, in whole units, and those that offer it.

        At least one of them must offer the resource.
        """
        amounts, at_least = self._amounts[resource]
        beyond = bisect_left(at_least, True, key=lambda nodes: not nodes & among)
        return amounts[beyond - 1], at_least[beyond - 1] & among

    def untolerated(self, tolerations: Tolerations, effects: frozenset[str]) -> Iterator[tuple[Taint, Nodes]]:
        """The taints of one of the effects that nothing tolerates, each with its nodes."""
        for taint, nodes in self._taints.items():
            if taint.effect in effects and not tolerations.tolerate(taint):
                yield taint, nodes

    def kept_off(self, tolerations: Tolerations, effects: frozenset[str]) -> Nodes:
        """The nodes with a taint of one of the effects that nothing tolerates."""
        return _union(nodes for _, nodes in self.untolerated(tolerations, effects))
