"""Nodes, indexed by what pods select them by, so that the work for a pod does not multiply with the nodes.

A set of nodes is an integer with one bit per node, so intersecting the sets of two selectors is one operation, however
many nodes there are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, zip_longest
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from webhook.policy.placement.facts import label_kind
from webhook.policy.placement.node_bounds import ALWAYS, Decisive, cut
from webhook.policy.placement.node_classes import CARD_MEMORY, REPLICAS, NodeClasses, SharingStrategy, Trait
from webhook.policy.placement.selector import NAME_FIELD, Constraint, Requirement, Tolerations, integer, is_lifecycle
from webhook.policy.pods.gpu_resources import MIG
from webhook.policy.pods.quantity import NANO
from webhook.policy.steps import ENTRIES, Steps, converted

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Node

MOST_DIFFERENT = 100_000
"""Different labels, taints and amounts of all nodes together that are indexed. What only later nodes have is unknown.

A set of nodes takes up to a bit for each node, so that these take 60 MiB for 5,000 nodes.
"""

MOST_PER_NODE = 20
"""Different labels, taints and amounts for each node of larger clusters that are indexed.

A node has about ten labels that no other has, such as its host name.
"""

NodeBitset: TypeAlias = int
"""A set of nodes: bit n stands for the n-th node of the index."""

KeyAndEffect: TypeAlias = tuple[str, str]
"""The key and the effect of a taint."""


def union(sets: Iterable[NodeBitset]) -> NodeBitset:
    """The nodes in any of the sets."""
    nodes = 0
    for each in sets:
        nodes |= each
    return nodes


class NodeSets:
    """Sets of nodes by what the nodes have.

    `traits`: the nodes by the traits of their classes, by the parts that are incomplete, and by the labels that are
    certain even there. `size`: the number of different labels, taints and amounts.
    """

    def __init__(self) -> None:
        by_value = partial(defaultdict[Any, NodeBitset], int)
        self.labels: defaultdict[str, defaultdict[str, NodeBitset]] = defaultdict(by_value)
        self.taints: defaultdict[KeyAndEffect, defaultdict[str, NodeBitset]] = defaultdict(by_value)
        self.amounts: defaultdict[str, defaultdict[int, NodeBitset]] = defaultdict(by_value)
        self.traits: defaultdict[Trait, NodeBitset] = defaultdict(int)
        self.size = 0

    def add(self, node: Node, bit: NodeBitset, classes: NodeClasses) -> None:
        """Add a node, which the bit stands for, to the sets of all that it has."""
        sets: tuple[tuple[defaultdict[Any, defaultdict[Any, NodeBitset]], Iterable[tuple[object, object]]], ...] = (
            (self.labels, node.labels.items()),
            (self.labels, ((NAME_FIELD, node.name),)),
            (self.taints, [((taint.key, taint.effect), taint.value) for taint in node.taints]),
            (self.amounts, node.resources.items()),
        )
        for by_key, entries in sets:
            for key, value in entries:
                nodes = by_key[key]
                self.size += value not in nodes
                nodes[value] |= bit
        for part in node.incomplete:
            self.traits["incomplete", part] |= bit
        for each in node.certain_labels if "labels" in node.incomplete else ():
            self.traits["certain", each] |= bit
        for trait in classes.traits(node):
            self.traits[trait] |= bit

    def known_of(self, node: Node, gpus: Container[str], decisive: Decisive) -> Node:
        """The node with its decisive labels, its amounts of GPUs, and the entries that earlier nodes have as well.

        MIG has too many names for that.
        """
        labels = {
            key: value
            for key, value in node.labels.items()
            if value in self.labels.get(key, ()) or label_kind(key) in decisive.labels
        }
        taints = [taint for taint in node.taints if taint.value in self.taints.get((taint.key, taint.effect), ())]
        resources = {
            name: amount
            for name, amount in node.resources.items()
            if amount in self.amounts.get(name, ()) or (name in gpus and not name.startswith(MIG))
        }
        return cut(node, labels, taints, resources, decisive)


Counts: TypeAlias = list[NodeBitset]
"""How often nodes were counted: at index n the nodes that were counted more than n times. The last is not empty.

A node keeps a pod off if the pod tolerates fewer of its taints than it has. So the index counts the taints of the
nodes, and a review counts those that the pod tolerates; how many others there are does not matter.
"""


def _count(counts: Counts, nodes: NodeBitset) -> None:
    for times, more in enumerate(counts):
        if not nodes:
            return
        counts[times] = more | nodes
        nodes &= more
    if nodes:
        counts.append(nodes)


_Numbers: TypeAlias = tuple[Sequence[int], Sequence[NodeBitset]]
"""Numbers in rising order, and for each index the nodes whose number has that index or a higher one."""

_NO_NUMBERS: _Numbers = ((), (0,))


def _at_or_above(sets: Collection[tuple[int, NodeBitset]]) -> Steps[_Numbers]:
    if not sets:
        return _NO_NUMBERS
    numbers, from_here_on = [], [0]
    for at, (number, nodes) in enumerate(sorted(sets, reverse=True), 1):
        numbers.append(number)
        from_here_on.append(from_here_on[-1] | nodes)
        if at % ENTRIES == 0:
            yield
    return numbers[::-1], from_here_on[::-1]


class _Values(NamedTuple):
    """The nodes with one label, or with taints of one key and effect: by its value, and by its value as a number."""

    by_value: Mapping[str, NodeBitset]
    present: NodeBitset
    numbers: _Numbers


_NO_VALUES = _Values({}, 0, _NO_NUMBERS)


def _values(by_value: Mapping[str, NodeBitset]) -> Steps[_Values]:
    present, numbers = 0, []
    for at, (value, nodes) in enumerate(by_value.items(), 1):
        present = present | nodes if present else nodes  # a label with one value has one set
        number = integer(value)
        if number is not None:
            numbers.append((number, nodes))
        if at % ENTRIES == 0:
            yield
    return _Values(by_value, present, (yield from _at_or_above(numbers)))


class TaintIndex(NamedTuple):
    """The taints of known nodes. `counts`: how many a node has, by effect, and by whether they show a passing state.

    The API server allows a node one taint of a key and an effect. A node of a file with several counts as tolerated
    with each of them.
    """

    by_key: Mapping[KeyAndEffect, _Values]
    counts: Mapping[tuple[str, bool], Counts]

    def untolerated(
        self, tolerations: Tolerations, effects: frozenset[str], *, passing: bool
    ) -> tuple[NodeBitset, NodeBitset]:
        """The nodes with taints of the effects that nothing tolerates, and those with exactly one such taint.

        `passing`: those that show a passing state of the node, else those that last.
        """
        some = several = 0
        for effect in effects:
            there = self.counts.get((effect, passing))
            if there is None or tolerations.tolerate_every("", effect):
                continue
            tolerated: Counts = []
            for key in tolerations.keys(effect):
                taint = self.by_key.get((key, effect))
                if taint is None or is_lifecycle(key) is not passing:
                    continue
                if tolerations.tolerate_every(key, effect):
                    _count(tolerated, taint.present)
                else:
                    values = tolerations.values(key, effect)
                    _count(tolerated, union(taint.by_value[value] for value in values if value in taint.by_value))
            once = union(more & ~most for more, most in zip_longest(there, tolerated, fillvalue=0))
            twice = union(more & ~most for more, most in zip_longest(there[1:], tolerated, fillvalue=0))
            several |= twice | some & once
            some |= once
        return some, some & ~several


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
        labels: Mapping[str, _Values],
        taints: TaintIndex,
        amounts: Mapping[str, _Numbers],
    ) -> None:
        self._nodes = nodes
        self.all: NodeBitset = (1 << len(nodes)) - 1
        self._traits = sets.traits
        self._labels = labels
        self._amounts = amounts
        self._unlisted_labels = self._having("incomplete", "labels")
        self._unlisted_resources = self._having("incomplete", "resources")
        self.taints = taints
        beside_labels = self._unlisted_resources | self._having("incomplete", "taints")
        self.incomplete: NodeBitset = self._unlisted_labels | beside_labels
        self.offered = frozenset(sets.amounts)
        self.unlabelled = self._having("unlabelled")
        """The nodes that share cards by their configuration, and have no label that shows it."""
        self.undiscovered = self._having("undiscovered")
        if self.undiscovered:  # except declared groups, which are the last nodes, and nodes with all labels of a group
            first = len(nodes) - groups
            described = (self.selected(Requirement(group.labels, None)) for group in nodes[first:] if group.labels)
            others = union(described) & ~self._unlisted_labels  # they only may have the labels of a group
            self.undiscovered &= ((1 << first) - 1) & ~others
        self.unknown = self.undiscovered | (beside_labels | self._having("undecided")) & ~self._having("mps")

    def _having(self, *trait: Any) -> NodeBitset:
        return self._traits.get(trait, 0)

    def sharing(self, strategy: SharingStrategy, resource: str) -> NodeBitset:
        """The nodes that share this resource through the strategy, or could: any node, without labels of MPS nodes.

        A node that does both is an MPS node.
        """
        nodes = self._sharing(strategy, resource) | self.unknown
        if strategy == "mps":
            return nodes | self._having("any")
        return nodes and nodes & ~self._sharing("mps", resource)

    def _sharing(self, strategy: SharingStrategy, resource: str) -> NodeBitset:
        return self._having(strategy) | self._having("shares", strategy, resource)

    def accepting(self, strategy: SharingStrategy, resource: str, *, several: bool) -> NodeBitset:
        """The nodes whose device plugin shares this resource so, and is known to accept several replicas, or one."""
        return self._having("accepting", strategy, resource, several)

    def unready(self, resource: str) -> NodeBitset:
        """The nodes that name this resource, but offer no GPU now: their device plugin is not running.

        The kubelet then reports 0 of each of its resources (kubernetes/kubernetes pkg/kubelet/cm/devicemanager).
        """
        return self._having("unready", resource)

    def offers(self, resource: str) -> bool:
        """Whether a node offers a resource, or may do so again.

        After its device plugin changes a resource's name, a kubelet still lists the old name, with 0 (bottlerocket-os/
        bottlerocket#4418). So a name that only such nodes list is not offered.
        """
        return resource in self.offered and bool(self.offering(resource, 1) or self.unready(resource))

    def listing(self, resource: str) -> NodeBitset:
        """The nodes that name this resource, in any amount, or may do so."""
        return self._amounts.get(resource, _NO_NUMBERS)[1][0] | self._unlisted_resources

    def nodes(self, chosen: NodeBitset) -> Iterator[Node]:
        """The nodes of a set, in their order."""
        bits = f"{chosen:b}"[::-1]  # shifting a large number bit by bit would cost its whole length each time
        place = bits.find("1")
        while place >= 0:
            yield self._nodes[place]
            place = bits.find("1", place + 1)

    def by_value(self, key: str, chosen: NodeBitset) -> Iterator[tuple[str, NodeBitset]]:
        """The nodes of a set by the value of a label; those without the label have an empty value."""
        label = self._labels.get(key, _NO_VALUES)
        for value, nodes in label.by_value.items():
            if nodes & chosen:
                yield value, nodes & chosen
        if chosen & ~label.present:
            yield "", chosen & ~label.present

    def named(self, name: str) -> NodeBitset:
        return self._labels.get(NAME_FIELD, _NO_VALUES).by_value.get(name, 0)

    def offering(self, resource: str, billionths: int) -> NodeBitset:
        """The nodes that offer at least this amount of a resource, which is above 0, or may do so."""
        amounts, at_least = self._amounts.get(resource, _NO_NUMBERS)
        return at_least[bisect_left(amounts, -(-billionths // NANO))] | self._unlisted_resources & ~at_least[0]

    def selected(self, requirement: Requirement) -> NodeBitset:
        """The nodes whose labels and name satisfy a requirement."""
        chosen = self.all
        for key, value in requirement.selector.items():
            label = self._labels.get(key, _NO_VALUES)
            chosen &= label.by_value.get(value, 0) | self._unlisted(key) & ~label.present
            if not chosen:
                return 0
        if requirement.terms is None:
            return chosen
        selected = 0
        for term in requirement.terms:
            meeting = chosen
            for key, constraint in term.items():
                meeting &= self.holding(key, constraint)
                if not meeting:
                    break
            selected |= meeting
        return selected

    def holding(self, key: str, constraint: Constraint) -> NodeBitset:
        """The nodes whose label, or field, satisfies a constraint."""
        label = self._labels.get(key, _NO_VALUES)
        nodes = self.all
        if constraint.values is not None:
            nodes = union(label.by_value.get(value, 0) for value in constraint.values)
        if constraint.excluded:
            nodes &= ~union(label.by_value.get(value, 0) for value in constraint.excluded)
        if not constraint.absent:
            nodes &= label.present
        if not constraint.present:
            nodes &= ~label.present
        if constraint.above > -inf or constraint.below < inf:
            numbers, at_least = label.numbers
            nodes &= at_least[bisect_right(numbers, constraint.above)]
            nodes &= ~at_least[bisect_left(numbers, constraint.below)]
        return nodes | self._unlisted(key) & ~label.present

    def _unlisted(self, key: str) -> NodeBitset:
        """The nodes that may have a label which is not listed."""
        return self._unlisted_labels and self._unlisted_labels & ~self._having("certain", label_kind(key))

    def most(self, resource: str, among: NodeBitset) -> tuple[int, NodeBitset]:
        """The highest amount of a resource that nodes of a set offer, in whole units, and those that offer it.

        At least one of them must offer the resource.
        """
        amounts, at_least = self._amounts[resource]
        beyond = bisect_left(at_least, True, key=lambda nodes: not nodes & among)
        return amounts[beyond - 1], at_least[beyond - 1] & among


_OF_A_NODE = 14
"""Entries that a node counts for besides its own, for the time that its class takes."""


def indexing(
    nodes: Sequence[Node], classes: NodeClasses, groups: Sequence[Node] = (), decisive: Decisive = ALWAYS
) -> Steps[NodeIndex]:
    """Index known nodes and declared groups in steps."""
    nodes = (*nodes, *groups)
    sets = NodeSets()
    indexed: list[Node] = []
    most = max(MOST_DIFFERENT, MOST_PER_NODE * len(nodes))
    since = 0
    for node in nodes:
        entries = len(node.labels) + len(node.taints) + len(node.resources)
        since += entries + _OF_A_NODE
        if since > ENTRIES:
            since = 0
            yield
        known = node if sets.size + entries <= most else sets.known_of(node, classes.gpus, decisive)
        sets.add(known, 1 << len(indexed), classes)
        indexed.append(known)
    labels = yield from converted(sets.labels, _values)
    taints = yield from converted(sets.taints, _values)
    counts: dict[tuple[str, bool], Counts] = {}
    for at, ((key, effect), having) in enumerate(taints.items(), 1):
        _count(counts.setdefault((effect, is_lifecycle(key)), []), having.present)
        if at % ENTRIES == 0:
            yield
    amounts = yield from converted(sets.amounts, lambda by_amount: _at_or_above(by_amount.items()))
    return NodeIndex(indexed, len(groups), sets, labels, TaintIndex(taints, counts), amounts)


MOST_KINDS = 256
"""Kinds of nodes, by these two labels, that are kept for a resource. Real clusters have a handful."""


class NodeKind(NamedTuple):
    """The nodes that name a resource, and have cards of one size with as many replicas; 0 where that is unknown.

    GPU feature discovery labels a node with the memory of one whole card in MiB, also where the card is shared
    (NVIDIA/k8s-device-plugin#535), and with the replicas per card.
    """

    nodes: NodeBitset
    mebibytes: int
    replicas: int


def label_number(label: str | None) -> int:
    """The memory of one card in MiB, or its replicas, by its label; 0 if that does not say, or for unified memory."""
    return max(integer(label or "") or 0, 0)


def share(mebibytes: int, replicas: int) -> int | None:
    """The memory of one of the replicas of a card, in MiB; None if one of the two is unknown.

    The device plugin gives each replica an equal part, rounded down to whole MiB.
    """
    return mebibytes // replicas or None if replicas else None


def node_kinds(index: NodeIndex, resource: str) -> Sequence[NodeKind]:
    """The kinds of nodes that name a resource, even if their device plugin is not running; none beyond the bound."""
    having = index.offering(resource, 1) | index.unready(resource)
    # Nodes with more values of one label have more kinds, too; all pairs of these values would take long.
    if any(len(list(index.by_value(key, having))) > MOST_KINDS for key in (CARD_MEMORY, REPLICAS)):
        return ()
    kinds = (
        NodeKind(nodes, label_number(memory), label_number(replicas))
        for memory, with_memory in index.by_value(CARD_MEMORY, having)
        for replicas, nodes in index.by_value(REPLICAS, with_memory)
    )
    kept = list(islice(kinds, MOST_KINDS + 1))
    return kept if len(kept) <= MOST_KINDS else ()
