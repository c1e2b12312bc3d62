"""Sets of nodes by what the nodes have: labels, taints, amounts of resources, and how they share their cards.

A set of nodes is an integer with one bit per node, so intersecting the sets of two selectors is one operation, however
many nodes there are.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from webhook.policy.placement.facts import label_kind
from webhook.policy.placement.node_bounds import Decisive, cut
from webhook.policy.placement.node_classes import NodeClasses, Trait
from webhook.policy.placement.selector import NAME_FIELD
from webhook.policy.pods.gpu_resources import MIG

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Node

Nodes: TypeAlias = int
"""A set of nodes: bit n stands for the n-th node of the index."""

KeyAndEffect: TypeAlias = tuple[str, str]
"""The key and the effect of a taint."""

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value", bound=Hashable)


def union(sets: Iterable[Nodes]) -> Nodes:
    """The nodes in any of the sets."""
    nodes = 0
    for each in sets:
        nodes |= each
    return nodes


def _put(sets: dict[_Key, Nodes], key: _Key, nodes: Nodes) -> None:
    sets[key] = sets.get(key, 0) | nodes


class NodeSets:
    """Sets of nodes by what the nodes have. The bits of a slice begin at 0 until `merge` moves them.

    `traits`: the nodes by the traits of their classes, by the parts that are incomplete, and by the labels that are
    certain even there. `size`: the number of different labels, taints and amounts that were merged.
    """

    def __init__(self) -> None:
        self.labels: dict[str, dict[str, Nodes]] = {}
        self.taints: dict[KeyAndEffect, dict[str, Nodes]] = {}
        self.amounts: dict[str, dict[int, Nodes]] = {}
        self.traits: dict[Trait, Nodes] = {}
        self.size = 0

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

    def merge(self, other: NodeSets, first: int) -> None:
        """Add the sets of a slice whose first node has this bit."""
        self.size += _merge_by_value(self.labels, other.labels, first)
        self.size += _merge_by_value(self.taints, other.taints, first)
        self.size += _merge_by_value(self.amounts, other.amounts, first)
        for trait, nodes in other.traits.items():
            _put(self.traits, trait, nodes << first)


def _merge_by_value(
    own: dict[_Key, dict[_Value, Nodes]], others: Mapping[_Key, Mapping[_Value, Nodes]], first: int
) -> int:
    """Add the sets of a slice, and return how many of them are new."""
    new = 0
    for key, values in others.items():
        held = own.setdefault(key, {})
        before = len(held)
        for value, nodes in values.items():
            _put(held, value, nodes << first)
        new += len(held) - before
    return new


def sets_of(nodes: Sequence[Node], classes: NodeClasses) -> NodeSets:
    """The sets of a slice of nodes."""
    sets = NodeSets()
    bit = 1
    for node in nodes:
        for key, value in node.labels.items():
            _put(sets.labels.setdefault(key, {}), value, bit)
        _put(sets.labels.setdefault(NAME_FIELD, {}), node.name, bit)
        for taint in node.taints:
            _put(sets.taints.setdefault((taint.key, taint.effect), {}), taint.value, bit)
        for resource, amount in node.resources.items():
            _put(sets.amounts.setdefault(resource, {}), amount, bit)
        for part in node.incomplete:
            _put(sets.traits, ("incomplete", part), bit)
        if "labels" in node.incomplete:
            for each in node.certain_labels:
                _put(sets.traits, ("certain", each), bit)
        for trait in classes.traits(node):
            _put(sets.traits, trait, bit)
        bit <<= 1
    return sets
