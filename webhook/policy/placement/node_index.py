"""Known nodes, indexed by what pods select them by, so that the work for a pod does not multiply with the nodes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from webhook.policy.placement.lifecycle_taints import is_lifecycle
from webhook.policy.placement.node_sets import Nodes, NodeSets, NodeSharing, sets_of, union
from webhook.policy.placement.plugin_configs import Acceptance, SharingStrategy
from webhook.policy.placement.selector import NAME_FIELD, Constraint, Requirement, integer
from webhook.policy.placement.tolerations import Tolerations
from webhook.policy.pods.quantity import NANO
from webhook.policy.steps import Steps, finished

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Node, Taint

_SLICE = 64
"""Nodes that are indexed at a time: their sets fit a machine word, and one slice takes less than a millisecond."""


def _at_or_above(sets: Iterable[tuple[int, Nodes]]) -> tuple[list[int], list[Nodes]]:
    """The numbers in rising order, and for each index the nodes whose number has that index or a higher one."""
    numbers, from_here_on = [], [0]
    for number, nodes in sorted(sets, reverse=True):
        numbers.append(number)
        from_here_on.append(from_here_on[-1] | nodes)
    return numbers[::-1], from_here_on[::-1]


class _Label:
    """The nodes that carry one label, by its value, and by its value as a number.

    `unclear`: of the nodes whose labels are `incomplete`, those that may carry it with any value.
    """

    __slots__ = ("_above", "_numbers", "by_value", "present", "unclear")

    def __init__(self, by_value: Mapping[str, Nodes], incomplete: Nodes) -> None:
        self.by_value = by_value
        self.present = union(by_value.values())
        self.unclear = incomplete & ~self.present
        self._numbers, self._above = _at_or_above(
            (number, nodes) for value, nodes in by_value.items() if (number := integer(value)) is not None
        )

    def between(self, above: int | None, below: int | None) -> Nodes:
        """The nodes whose value is a number above the one and below the other."""
        nodes = self._above[0 if above is None else bisect_right(self._numbers, above)]
        return nodes if below is None else nodes & ~self._above[bisect_left(self._numbers, below)]


class _Amounts:
    """The nodes that offer one resource, by its amount.

    `unclear`: of the nodes whose resources are `incomplete`, those that may offer any amount of it.
    """

    __slots__ = ("_at_least", "_numbers", "unclear")

    def __init__(self, by_amount: Mapping[int, Nodes], incomplete: Nodes) -> None:
        self._numbers, self._at_least = _at_or_above(by_amount.items())
        self.unclear = incomplete & ~self._at_least[0]

    def at_least(self, units: int) -> Nodes:
        """The nodes that offer at least this amount, or may do so."""
        return self._at_least[bisect_left(self._numbers, units)] | self.unclear

    def most(self, among: Nodes) -> tuple[int, Nodes]:
        """The highest amount that nodes of a set offer, and those that offer it. At least one of them must do so."""
        beyond = bisect_left(self._at_least, True, key=lambda nodes: not nodes & among)
        return self._numbers[beyond - 1], self._at_least[beyond - 1] & among


class _Taints:
    """The nodes with taints of one key and effect, by the taint's value. A node has one such taint."""

    __slots__ = ("by_value", "is_passing", "present")

    def __init__(self, key: str) -> None:
        self.is_passing = is_lifecycle(key)
        self.by_value: dict[str, Nodes] = {}
        self.present: Nodes = 0

    def add(self, value: str, nodes: Nodes) -> None:
        """Add the nodes with a value."""
        self.by_value[value] = nodes
        self.present |= nodes


class NodeIndex:
    """Nodes and declared node groups. `offered`: the resources of all of them.

    `unknown`: the nodes that may share their cards in any way, or not at all. They count as sharing, and never as whole
    cards. Those of them in `undiscovered` have no label that tells; of the others, the facts hold a part only.
    """

    __slots__ = (
        "_amounts",
        "_labels",
        "_nodes",
        "_sets",
        "_taints",
        "_unnamed_label",
        "all",
        "offered",
        "undiscovered",
        "unknown",
    )

    def __init__(self, nodes: Sequence[Node], groups: int, sets: NodeSets, labels: Mapping[str, _Label]) -> None:
        self._nodes = nodes
        self.all: Nodes = (1 << len(nodes)) - 1
        self._sets = sets
        self._labels = labels
        self._unnamed_label = _Label({}, sets.incomplete.get("labels", 0))
        self._taints = _by_key(sets.taints)
        unclear = sets.incomplete.get("resources", 0)
        self._amounts = {resource: _Amounts(by_amount, unclear) for resource, by_amount in sets.amounts.items()}
        self.offered = frozenset(sets.amounts)
        self.undiscovered = sets.members.get("undiscovered", 0) and self._undescribed(groups)
        self.unknown = self.undiscovered | (union(sets.incomplete.values()) & ~sets.members.get("mps", 0))

    def _undescribed(self, groups: int) -> Nodes:
        """The nodes that no label tells the class of, except declared groups and nodes with all labels of a group.

        The groups are the last nodes.
        """
        first = len(self._nodes) - groups
        described = (self.selected(Requirement(group.labels, None)) for group in self._nodes[first:] if group.labels)
        return self._sets.members["undiscovered"] & ((1 << first) - 1) & ~union(described)

    @classmethod
    def of(cls, nodes: Sequence[Node], sharing: NodeSharing, groups: Sequence[Node] = ()) -> NodeIndex:
        """The index of nodes and of declared groups."""
        return finished(indexing(nodes, sharing, groups))

    def mps(self, resource: str) -> Nodes:
        """The nodes that share this resource through MPS, or could do so: without MPS labels any node could."""
        return self._sharing("mps", resource) | self._sets.members.get("any", 0) | self.unknown

    def time_sliced(self, resource: str) -> Nodes:
        """The nodes that share this resource through time-slicing, or could. One that does both is an MPS node."""
        nodes = self._sharing("time-slicing", resource) | self.unknown
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

    def nodes(self, chosen: Nodes) -> Iterator[Node]:
        """The nodes of a set, in their order."""
        bits = f"{chosen:b}"[::-1]  # shifting a large number bit by bit would cost its whole length each time
        place = bits.find("1")
        while place >= 0:
            yield self._nodes[place]
            place = bits.find("1", place + 1)

    def by_value(self, key: str, chosen: Nodes) -> Iterator[tuple[str, Nodes]]:
        """The nodes of a set by the value of a label; those without the label have an empty value."""
        label = self._labels.get(key, self._unnamed_label)
        for value, nodes in label.by_value.items():
            if nodes & chosen:
                yield value, nodes & chosen
        if chosen & ~label.present:
            yield "", chosen & ~label.present

    def named(self, name: str) -> Nodes:
        """The nodes of this name."""
        return self._labels[NAME_FIELD].by_value.get(name, 0) if self._nodes else 0

    def offering(self, resource: str, billionths: int) -> Nodes:
        """The nodes that offer at least this amount of a resource, which is above 0, or may do so."""
        if resource not in self._amounts:
            return self._sets.incomplete.get("resources", 0)
        return self._amounts[resource].at_least(-(-billionths // NANO))

    def selected(self, requirement: Requirement) -> Nodes:
        """The nodes whose labels and name satisfy a requirement, or may do so."""
        chosen = self.all
        for key, value in requirement.selector.items():
            label = self._labels.get(key, self._unnamed_label)
            chosen &= label.by_value.get(value, 0) | label.unclear
            if not chosen:
                return 0
        if requirement.terms is None:
            return chosen
        return union(self._meeting(term, chosen) for term in requirement.terms)

    def _meeting(self, term: Mapping[str, Constraint], chosen: Nodes) -> Nodes:
        for key, constraint in term.items():
            chosen &= self.holding(key, constraint)
            if not chosen:
                return 0
        return chosen

    def holding(self, key: str, constraint: Constraint) -> Nodes:
        """The nodes whose label, or field, satisfies a constraint, or may do so."""
        label = self._labels.get(key, self._unnamed_label)
        nodes = self.all
        if constraint.values is not None:
            nodes = union(label.by_value.get(value, 0) for value in constraint.values)
        if constraint.excluded:
            nodes &= ~union(label.by_value.get(value, 0) for value in constraint.excluded)
        if constraint.present:
            nodes &= label.present
        if constraint.absent:
            nodes &= ~label.present
        if constraint.above is not None or constraint.below is not None:
            nodes &= label.between(constraint.above, constraint.below)
        return nodes | label.unclear

    def tainted(self, taint: Taint) -> Nodes:
        """The nodes with a taint."""
        return self._sets.taints.get(taint, 0)

    @property
    def taints(self) -> Iterable[Taint]:
        """The taints of all nodes."""
        return self._sets.taints.keys()

    def kept_off(self, tolerations: Tolerations, effects: frozenset[str]) -> tuple[Nodes, Nodes]:
        """The nodes with a taint of one of the effects that nothing tolerates: one that lasts, or one that passes."""
        lasting = passing = 0
        for (key, effect), taints in self._taints.items():
            if effect not in effects or tolerations.tolerate_every(key, effect):
                continue
            tolerated = union(taints.by_value.get(value, 0) for value in tolerations.values(key, effect))
            if taints.is_passing:
                passing |= taints.present & ~tolerated
            else:
                lasting |= taints.present & ~tolerated
        return lasting, passing

    def untolerated(self, tolerations: Tolerations, effects: frozenset[str]) -> Iterator[tuple[Taint, Nodes]]:
        """The taints of one of the effects that nothing tolerates, each with its nodes."""
        for taint, nodes in self._sets.taints.items():
            if taint.effect in effects and not tolerations.tolerate(taint):
                yield taint, nodes

    def most(self, resource: str, among: Nodes) -> tuple[int, Nodes]:
        """The highest amount of a resource that nodes of a set offer, in whole units, and those that offer it.

        At least one of them must offer the resource.
        """
        return self._amounts[resource].most(among)


def _by_key(sets: Mapping[Taint, Nodes]) -> dict[tuple[str, str], _Taints]:
    found: dict[tuple[str, str], _Taints] = {}
    for taint, nodes in sets.items():
        found.setdefault((taint.key, taint.effect), _Taints(taint.key)).add(taint.value, nodes)
    return found


def indexing(known: Sequence[Node], sharing: NodeSharing, groups: Sequence[Node] = ()) -> Steps[NodeIndex]:
    """Index known nodes and declared groups in steps."""
    nodes = (*known, *groups)
    sets = NodeSets()
    for first in range(0, len(nodes), _SLICE):
        sets.merge(sets_of(nodes[first : first + _SLICE], sharing), first)
        yield
    labels = {}
    for key, values in sets.labels.items():
        labels[key] = _Label(values, 0 if key == NAME_FIELD else sets.incomplete.get("labels", 0))
        if len(values) > _SLICE:
            yield
    return NodeIndex(nodes, len(groups), sets, labels)
