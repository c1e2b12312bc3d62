"""The taints of known nodes, indexed so that the tolerations of a pod are looked up among them, not compared with each.

A node keeps a pod off if the pod tolerates fewer of its taints than it has. So the index counts the taints of the
nodes, and a review counts those that the pod tolerates; how many others there are does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import TypeAlias

from webhook.policy.placement.node_sets import Nodes, TaintKey, union
from webhook.policy.placement.tolerations import Tolerations, is_lifecycle
from webhook.policy.steps import ENTRIES, Steps, converted

Counts: TypeAlias = list[Nodes]
"""How often nodes were counted: at index n the nodes that were counted more than n times. The last is not empty."""


def _count(counts: Counts, nodes: Nodes) -> None:
    for times, more in enumerate(counts):
        if not nodes:
            return
        counts[times] = more | nodes
        nodes &= more
    if nodes:
        counts.append(nodes)


class _Taints:
    """The nodes with taints of one key and effect, by the taint's value, and by how many of them they have.

    The API server allows a node one of them.
    """

    __slots__ = ("by_value", "counts")

    def __init__(self, by_value: Mapping[str, Nodes], counts: Counts) -> None:
        self.by_value = by_value
        self.counts = counts

    def tolerated_by(self, tolerations: Tolerations, key: TaintKey) -> Iterable[Nodes]:
        """The sets of nodes with the taints that the tolerations name. A node with several is in several sets."""
        if tolerations.tolerate_every(*key):
            return self.counts
        return (self.by_value[value] for value in tolerations.values(*key) if value in self.by_value)


class TaintIndex:
    """The taints of known nodes. `counts`: how many a node has, by effect, and by whether they show a passing state."""

    __slots__ = ("_by_key", "_counts")

    def __init__(self, by_key: Mapping[TaintKey, _Taints], counts: Mapping[tuple[str, bool], Counts]) -> None:
        self._by_key = by_key
        self._counts = counts

    def __iter__(self) -> Iterator[TaintKey]:
        return iter(self._by_key)

    def having(self, key: TaintKey) -> Nodes:
        """The nodes with a taint of this key and effect, which some node has."""
        return self._by_key[key].counts[0]

    def untolerated(self, tolerations: Tolerations, effects: frozenset[str], *, passing: bool) -> tuple[Nodes, Nodes]:
        """The nodes with taints of the effects that nothing tolerates, and those with exactly one such taint.

        `passing`: those that show a passing state of the node, else those that last.
        """
        some = several = 0
        for effect in effects:
            there = self._counts.get((effect, passing))
            if there is None or tolerations.tolerate_every("", effect):
                continue
            tolerated = self._tolerated(tolerations, effect, passing=passing)
            one = union(more & ~most for more, most in zip_longest(there, tolerated, fillvalue=0))
            two = union(more & ~most for more, most in zip_longest(there[1:], tolerated, fillvalue=0))
            several |= two | some & one
            some |= one
        return some, some & ~several

    def _tolerated(self, tolerations: Tolerations, effect: str, *, passing: bool) -> Counts:
        counts: Counts = []
        for key in tolerations.keys(effect):
            taints = self._by_key.get((key, effect))
            if taints is not None and is_lifecycle(key) is passing:
                for nodes in taints.tolerated_by(tolerations, (key, effect)):
                    _count(counts, nodes)
        return counts


def _taints(by_value: Mapping[str, Nodes]) -> Steps[_Taints]:
    counts: Counts = []
    for at, nodes in enumerate(by_value.values(), 1):
        _count(counts, nodes)
        if at % ENTRIES == 0:
            yield
    return _Taints(by_value, counts)


def taint_index(sets: Mapping[TaintKey, Mapping[str, Nodes]]) -> Steps[TaintIndex]:
    """Index sets of nodes by key and effect, and by value, of their taints. In steps."""
    by_key = yield from converted(sets, _taints)
    counts: dict[tuple[str, bool], Counts] = {}
    for at, ((key, effect), taints) in enumerate(by_key.items(), 1):
        own = counts.setdefault((effect, is_lifecycle(key)), [])
        for nodes in taints.counts:
            _count(own, nodes)
        if at % ENTRIES == 0:
            yield
    return TaintIndex(by_key, counts)
