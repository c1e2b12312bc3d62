"""Known nodes, indexed by what pods select them by, so that the work for a pod does not multiply with the nodes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from webhook.policy.placement.facts import label_kind
from webhook.policy.placement.node_bounds import ALWAYS, Decisive
from webhook.policy.placement.node_classes import NodeClasses, SharingStrategy
from webhook.policy.placement.node_sets import Nodes, NodeSets, sets_of, union
from webhook.policy.placement.selector import NAME_FIELD, Constraint, Requirement, integer
from webhook.policy.placement.taints import TaintIndex, taint_index
from webhook.policy.pods.quantity import NANO
from webhook.policy.steps import ENTRIES, Steps, converted

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Node

SLICE = 64
"""Nodes that are indexed at a time: their sets fit a machine word."""

MOST_DIFFERENT = 100_000
"""Different labels, taints and amounts of all nodes together that are indexed. What only later nodes have is unknown.

A set of nodes takes up to a bit for each node, so that these take 60 MiB for 5,000 nodes.
"""

MOST_PER_NODE = 20
"""Different labels, taints and amounts for each node of larger clusters that are indexed.

A node has about ten labels that no other has, such as its host name.
"""

_Amounts: TypeAlias = tuple[Sequence[int], Sequence[Nodes]]
"""Numbers in rising order, and for each index the nodes whose number has that index or a higher one."""

_NO_AMOUNTS: _Amounts = ((), (0,))


def _at_or_above(sets: Collection[tuple[int, Nodes]]) -> Steps[_Amounts]:
    if not sets:
        return _NO_AMOUNTS
    numbers, from_here_on = [], [0]
    for at, (number, nodes) in enumerate(sorted(sets, reverse=True), 1):
        numbers.append(number)
        from_here_on.append(from_here_on[-1] | nodes)
        if at % ENTRIES == 0:
            yield
    return numbers[::-1], from_here_on[::-1]


class _Label(NamedTuple):
    """The nodes that carry one label, by its value, and by its value as a number."""

    by_value: Mapping[str, Nodes]
    present: Nodes
    amounts: _Amounts

    def between(self, above: int | None, below: int | None) -> Nodes:
        """The nodes whose value is a number above the one and below the other."""
        numbers, at_least = self.amounts
        nodes = at_least[0 if above is None else bisect_right(numbers, above)]
        return nodes if below is None else nodes & ~at_least[bisect_left(numbers, below)]


_NO_LABEL = _Label({}, 0, _NO_AMOUNTS)


def _label(by_value: Mapping[str, Nodes]) -> Steps[_Label]:
    present, numbers = 0, []
    for at, (value, nodes) in enumerate(by_value.items(), 1):
        present = present | nodes if present else nodes  # a label with one value has one set
        number = integer(value)
        if number is not None:
            numbers.append((number, nodes))
        if at % ENTRIES == 0:
            yield
    return _Label(by_value, present, (yield from _at_or_above(numbers)))


class NodeIndex:
    """Nodes and declared node groups. `offered`: the resources of all of them. `incomplete`: not all is known of these.

    A node with more labels than are known of it satisfies any constraint on a label that is not among them, unless that
    label is certain to be missing. So does one with more resources, for any amount.

    `unknown`: the nodes that may share their cards in any way, or not at all. They count as sharing, and never as whole
    cards. They are `undiscovered`: no label, group or configuration shows their class. Or they are incomplete, and
    more than labels that do not concern the class may be missing.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        groups: int,
        sets: NodeSets,
        labels: Mapping[str, _Label],
        taints: TaintIndex,
        amounts: Mapping[str, _Amounts],
    ) -> None:
        self._nodes = nodes
        self.all: Nodes = (1 << len(nodes)) - 1
        traits = self._traits = sets.traits
        self._labels = labels
        self._amounts = amounts
        self._unlisted_labels = traits.get(("incomplete", "labels"), 0)
        self._unlisted_resources = traits.get(("incomplete", "resources"), 0)
        self.taints = taints
        beside_labels = self._unlisted_resources | traits.get(("incomplete", "taints"), 0)
        self.incomplete: Nodes = self._unlisted_labels | beside_labels
        self.offered = frozenset(sets.amounts)
        self.undiscovered = traits.get(("undiscovered",), 0) and self._undescribed(groups)
        self.unknown = self.undiscovered | (beside_labels | traits.get(("undecided",), 0)) & ~traits.get(("mps",), 0)

    def _undescribed(self, groups: int) -> Nodes:
        """The nodes whose class no label shows, except declared groups and nodes with all labels of a group.

        The groups are the last nodes.
        """
        first = len(self._nodes) - groups
        described = (self.selected(Requirement(group.labels, None)) for group in self._nodes[first:] if group.labels)
        unlisted = self._unlisted_labels  # they only may have the labels of a group
        return self._traits.get(("undiscovered",), 0) & ((1 << first) - 1) & ~(union(described) & ~unlisted)

    def sharing(self, strategy: SharingStrategy, resource: str) -> Nodes:
        """The nodes that share this resource through the strategy, or could: any node, without labels of MPS nodes.

        A node that does both is an MPS node.
        """
        nodes = self._sharing(strategy, resource) | self.unknown
        if strategy == "mps":
            return nodes | self._traits.get(("any",), 0)
        return nodes and nodes & ~self._sharing("mps", resource)

    @property
    def unlabelled(self) -> Nodes:
        """The nodes that share cards by their configuration, and have no label that shows it."""
        return self._traits.get(("unlabelled",), 0)

    def _sharing(self, strategy: SharingStrategy, resource: str) -> Nodes:
        return self._traits.get((strategy,), 0) | self._traits.get(("shares", strategy, resource), 0)

    def accepting(self, strategy: SharingStrategy, resource: str, *, several: bool) -> Nodes:
        """The nodes whose device plugin shares this resource so, and is known to accept several replicas, or one."""
        return self._traits.get(("accepting", strategy, resource, several), 0)

    def configured_replicas(self, resource: str) -> list[tuple[int, Nodes]]:
        """The replicas per card by the plugin's configuration, the highest number first, and the nodes that have it."""
        found = []
        for (word, *names), nodes in self._traits.items():
            if word == "replicas" and names[0] == resource and isinstance(names[1], int):
                found.append((names[1], nodes))
        return sorted(found, reverse=True)

    def unready(self, resource: str) -> Nodes:
        """The nodes that name this resource, but offer no GPU now: their device plugin is not running.

        The kubelet then reports 0 of each of its resources (kubernetes/kubernetes pkg/kubelet/cm/devicemanager).
        """
        return self._traits.get(("unready", resource), 0)

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
        return self._labels.get(NAME_FIELD, _NO_LABEL).by_value.get(name, 0)

    def offering(self, resource: str, billionths: int) -> Nodes:
        """The nodes that offer at least this amount of a resource, which is above 0, or may do so."""
        amounts, at_least = self._amounts.get(resource, _NO_AMOUNTS)
        return at_least[bisect_left(amounts, -(-billionths // NANO))] | self._unlisted_resources & ~at_least[0]

    def selected(self, requirement: Requirement) -> Nodes:
        """The nodes whose labels and name satisfy a requirement."""
        chosen = self.all
        for key, value in requirement.selector.items():
            label = self._labels.get(key, _NO_LABEL)
            chosen &= label.by_value.get(value, 0) | self._unlisted(key) & ~label.present
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
        """The nodes whose label, or field, satisfies a constraint."""
        label = self._labels.get(key, _NO_LABEL)
        nodes = self.all
        if constraint.values is not None:
            nodes = union(label.by_value.get(value, 0) for value in constraint.values)
        if constraint.excluded:
            nodes &= ~union(label.by_value.get(value, 0) for value in constraint.excluded)
        if not constraint.absent:
            nodes &= label.present
        if not constraint.present:
            nodes &= ~label.present
        if constraint.above is not None or constraint.below is not None:
            nodes &= label.between(constraint.above, constraint.below)
        return nodes | self._unlisted(key) & ~label.present

    def _unlisted(self, key: str) -> Nodes:
        """The nodes that may have a label which is not listed."""
        return self._unlisted_labels and self._unlisted_labels & ~self._traits.get(("certain", label_kind(key)), 0)

    def most(self, resource: str, among: Nodes) -> tuple[int, Nodes]:
        """The highest amount of a resource that nodes of a set offer, in whole units, and those that offer it.

        At least one of them must offer the resource.
        """
        amounts, at_least = self._amounts[resource]
        beyond = bisect_left(at_least, True, key=lambda nodes: not nodes & among)
        return amounts[beyond - 1], at_least[beyond - 1] & among


def _slices(nodes: Iterable[Node]) -> Iterator[list[Node]]:
    slice_: list[Node] = []
    entries = 0
    for node in nodes:
        more = _entries(node)
        if slice_ and (len(slice_) == SLICE or entries + more > ENTRIES):
            yield slice_
            slice_, entries = [], 0
        slice_.append(node)
        entries += more
    if slice_:
        yield slice_


def _entries(node: Node) -> int:
    return len(node.labels) + len(node.taints) + len(node.resources)


def indexing(
    known: Sequence[Node], classes: NodeClasses, groups: Sequence[Node] = (), decisive: Decisive = ALWAYS
) -> Steps[NodeIndex]:
    """Index known nodes and declared groups in steps."""
    nodes = (*known, *groups)
    sets = NodeSets()
    indexed: list[Node] = []
    most = max(MOST_DIFFERENT, MOST_PER_NODE * len(nodes))
    for slice_ in _slices(nodes):
        if sets.size + sum(map(_entries, slice_)) > most:
            slice_ = [sets.known_of(node, classes.gpus, decisive) for node in slice_]
        sets.merge(sets_of(slice_, classes), len(indexed))
        indexed += slice_
        yield
    labels = yield from converted(sets.labels, _label)
    taints = yield from taint_index(sets.taints)
    amounts = yield from converted(sets.amounts, lambda by_amount: _at_or_above(by_amount.items()))
    return NodeIndex(indexed, len(groups), sets, labels, taints, amounts)
