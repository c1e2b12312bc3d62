"""Known nodes, indexed by what pods select them by, so that the work for a pod does not multiply with the nodes.

A set of nodes is an integer with one bit per node, so intersecting the sets of two selectors is one operation, however
many nodes there are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from webhook.policy.placement.facts import Node, Taint
from webhook.policy.placement.lifecycle_taints import is_lifecycle
from webhook.policy.placement.node_classes import NodeClasses
from webhook.policy.placement.plugin_configs import Acceptance, PluginConfigs, SharingStrategy
from webhook.policy.placement.selector import NAME_FIELD, Constraint, Requirement, integer
from webhook.policy.placement.tolerations import Tolerations
from webhook.policy.pods.quantity import NANO
from webhook.policy.steps import Steps, finished

_Key = TypeVar("_Key", bound=Hashable)

Nodes = int
"""A set of nodes: bit n stands for the n-th node of the index."""

_SLICE = 64
"""Nodes that are indexed at a time: their sets fit a machine word, and one slice takes less than a millisecond."""


def _put(sets: dict[_Key, Nodes], key: _Key, nodes: Nodes) -> None:
    sets[key] = sets.get(key, 0) | nodes


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


class _Sets:
    """Sets of nodes by what the nodes have. The bits of a slice begin at 0 until `merge` moves them."""

    __slots__ = ("accepting", "amounts", "labels", "members", "shares", "taints", "unready")

    def __init__(self) -> None:
        self.labels: dict[str, dict[str, Nodes]] = {}
        self.taints: dict[Taint, Nodes] = {}
        self.amounts: dict[str, dict[int, Nodes]] = {}
        self.members: dict[str, Nodes] = {}
        self.shares: dict[tuple[str, str], Nodes] = {}
        self.accepting: dict[tuple[str, str, Acceptance], Nodes] = {}
        self.unready: dict[str, Nodes] = {}

    def merge(self, other: _Sets, first: int) -> None:
        """Add the sets of a slice whose first node has this bit."""
        for key, values in other.labels.items():
            own = self.labels.setdefault(key, {})
            for value, nodes in values.items():
                _put(own, value, nodes << first)
        for resource, amounts in other.amounts.items():
            held = self.amounts.setdefault(resource, {})
            for amount, nodes in amounts.items():
                _put(held, amount, nodes << first)
        _merge(self.taints, other.taints, first)
        _merge(self.members, other.members, first)
        _merge(self.shares, other.shares, first)
        _merge(self.accepting, other.accepting, first)
        _merge(self.unready, other.unready, first)


def _merge(own: dict[_Key, Nodes], others: Mapping[_Key, Nodes], first: int) -> None:
    for key, nodes in others.items():
        _put(own, key, nodes << first)


class NodeSharing:
    """How nodes share their cards: by their labels, and by the device plugin's configurations.

    `gpus` contains the names of GPU resources.
    """

    __slots__ = ("classes", "configs", "gpus")

    def __init__(self, classes: NodeClasses, configs: PluginConfigs, gpus: Container[str]) -> None:
        self.classes = classes
        self.configs = configs
        self.gpus = gpus

    def add(self, node: Node, bit: Nodes, sets: _Sets) -> None:
        """Add a node, which this bit stands for, to the sets of those that share cards."""
        config = self.configs.of(node)
        if self.classes.mps.marks(node):
            _put(sets.members, "mps", bit)
        elif self.classes.time_slicing.marks(node):
            _put(sets.members, "time-slicing", bit)
        if config is None and not self.classes.mps.labels:
            _put(sets.members, "unknown", bit)
        if config is not None and config.strategy != "none":
            if not (self.classes.mps.marks(node) or self.classes.time_slicing.marks(node)):
                _put(sets.members, "unlabelled", bit)
            acceptance = self.configs.accepts(config)
            for shared in config.resources:
                _put(sets.shares, (config.strategy, shared.name), bit)
                _put(sets.accepting, (config.strategy, shared.name, acceptance), bit)
        gpus = [name for name in node.resources if name in self.gpus]
        if not any(node.resources[name] for name in gpus):
            for name in gpus:
                _put(sets.unready, name, bit)


class NodeIndex:
    """Nodes and declared node groups. `offered`: the resources of all of them."""

    __slots__ = ("_amounts", "_labels", "_nodes", "_sets", "_taints", "all", "offered")

    def __init__(self, nodes: Sequence[Node], sets: _Sets, labels: Mapping[str, _Label]) -> None:
        self._nodes = nodes
        self.all: Nodes = (1 << len(nodes)) - 1
        self._sets = sets
        self._labels = labels
        self._taints = sets.taints
        self._amounts = {resource: _at_or_above(by_amount.items()) for resource, by_amount in sets.amounts.items()}
        self.offered = frozenset(sets.amounts)

    @classmethod
    def of(cls, nodes: Iterable[Node], sharing: NodeSharing) -> NodeIndex:
        """The index of nodes."""
        return finished(indexing(tuple(nodes), sharing))

    def mps(self, resource: str) -> Nodes:
        """The nodes that share this resource through MPS, or could do so: without MPS labels any node could."""
        return self._sharing("mps", resource) | self._sets.members.get("unknown", 0)

    def time_sliced(self, resource: str) -> Nodes:
        """The nodes that share this resource through time-slicing. A node that does both is an MPS node."""
        nodes = self._sharing("time-slicing", resource)
        return nodes and nodes & ~self._sharing("mps", resource)

    @property
    def unlabelled(self) -> Nodes:
        """The nodes that share cards by their configuration, and have no label that shows it."""
        return self._sets.members.get("unlabelled", 0)

    def _sharing(self, strategy: SharingStrategy, resource: str) -> Nodes:
        return self._sets.members.get(strategy, 0) | self._sets.shares.get((strategy, resource), 0)

    def accepting(self, strategy: SharingStrategy, resource: str, acceptance: Acceptance) -> Nodes:
        """The nodes whose device plugin shares this resource so, and is known to accept one replica, or more."""
        return self._sets.accepting.get((strategy, resource, acceptance), 0)

    def unready(self, resource: str) -> Nodes:
        """The nodes that name this resource, but offer no GPU now: their device plugin is not running.

        The kubelet then reports 0 of each of its resources (kubernetes/kubernetes pkg/kubelet/cm/devicemanager).
        """
        return self._sets.unready.get(resource, 0)

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

    def by_value(self, key: str, chosen: Nodes) -> Iterator[tuple[str, Nodes]]:
        """The nodes of a set by the value of a label; those without the label have an empty value."""
        label = self._labels.get(key, _NO_LABEL)
        for value, nodes in label.by_value.items():
            if nodes & chosen:
                yield value, nodes & chosen
        if chosen & ~label.present:
            yield "", chosen & ~label.present

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

    def tainted(self, taint: Taint) -> Nodes:
        """The nodes with a taint."""
        return self._taints.get(taint, 0)

    @property
    def taints(self) -> Iterable[Taint]:
        """The taints of all nodes."""
        return self._taints.keys()

    def kept_off(self, tolerations: Tolerations, effects: frozenset[str]) -> tuple[Nodes, Nodes]:
        """The nodes with a taint of one of the effects that nothing tolerates: one that lasts, or one that passes."""
        lasting = passing = 0
        for taint, nodes in self.untolerated(tolerations, effects):
            if is_lifecycle(taint.key):
                passing |= nodes
            else:
                lasting |= nodes
        return lasting, passing

    def untolerated(self, tolerations: Tolerations, effects: frozenset[str]) -> Iterator[tuple[Taint, Nodes]]:
        """The taints of one of the effects that nothing tolerates, each with its nodes."""
        for taint, nodes in self._taints.items():
            if taint.effect in effects and not tolerations.tolerate(taint):
                yield taint, nodes

    def most(self, resource: str, among: Nodes) -> tuple[int, Nodes]:
        """The highest amount of a resource that nodes of a set offer, in whole units, and those that offer it.

        At least one of them must offer the resource.
        """
        amounts, at_least = self._amounts[resource]
        beyond = bisect_left(at_least, True, key=lambda nodes: not nodes & among)
        return amounts[beyond - 1], at_least[beyond - 1] & among


def indexing(nodes: Sequence[Node], sharing: NodeSharing) -> Steps[NodeIndex]:
    """Index nodes in steps."""
    sets = _Sets()
    for first in range(0, len(nodes), _SLICE):
        sets.merge(_sets_of(nodes[first : first + _SLICE], sharing), first)
        yield
    labels = {}
    for key, values in sets.labels.items():
        labels[key] = _Label(values)
        if len(values) > _SLICE:
            yield
    return NodeIndex(nodes, sets, labels)


def _sets_of(nodes: Sequence[Node], sharing: NodeSharing) -> _Sets:
    sets = _Sets()
    bit = 1
    for node in nodes:
        for key, value in node.labels.items():
            _put(sets.labels.setdefault(key, {}), value, bit)
        _put(sets.labels.setdefault(NAME_FIELD, {}), node.name, bit)
        for taint in node.taints:
            _put(sets.taints, taint, bit)
        for resource, amount in node.resources.items():
            _put(sets.amounts.setdefault(resource, {}), amount, bit)
        sharing.add(node, bit, sets)
        bit <<= 1
    return sets
