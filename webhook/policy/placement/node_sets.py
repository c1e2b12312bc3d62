"""Sets of nodes by what the nodes have: labels, taints, amounts of resources, and how they share their cards.

A set of nodes is an integer with one bit per node, so intersecting the sets of two selectors is one operation, however
many nodes there are.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from webhook.policy.placement.facts import label_kind, may_have
from webhook.policy.placement.node_bounds import ALWAYS, Decisive, cut
from webhook.policy.placement.node_classes import CONFIG_LABEL, Acceptance, NodeClasses, PluginConfigs
from webhook.policy.placement.selector import NAME_FIELD
from webhook.policy.pods.gpu_resources import MIG

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Node, NodePart

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

    `size`: the number of different labels, taints and amounts that were merged.
    """

    def __init__(self) -> None:
        self.labels: dict[str, dict[str, Nodes]] = {}
        self.taints: dict[KeyAndEffect, dict[str, Nodes]] = {}
        self.amounts: dict[str, dict[int, Nodes]] = {}
        self.incomplete: dict[NodePart, Nodes] = {}
        self.certain: dict[str, Nodes] = {}
        self.size = 0
        self.members: dict[str, Nodes] = {}
        self.shares: dict[tuple[str, str], Nodes] = {}
        self.accepting: dict[tuple[str, str, Acceptance], Nodes] = {}
        self.unready: dict[str, Nodes] = {}

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
        _merge(self.incomplete, other.incomplete, first)
        _merge(self.certain, other.certain, first)
        _merge(self.members, other.members, first)
        _merge(self.shares, other.shares, first)
        _merge(self.accepting, other.accepting, first)
        _merge(self.unready, other.unready, first)


def _merge(own: dict[_Key, Nodes], others: Mapping[_Key, Nodes], first: int) -> None:
    for key, nodes in others.items():
        _put(own, key, nodes << first)


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


class NodeSharing:
    """How nodes share their cards: by their labels, and by the device plugin's configurations.

    `gpus` contains the names of GPU resources, `shared` those whose units may be replicas. `decisive` labels are kept
    of every node.
    """

    __slots__ = ("classes", "configs", "decisive", "gpus", "shared")

    def __init__(
        self,
        classes: NodeClasses,
        configs: PluginConfigs,
        gpus: Container[str],
        shared: frozenset[str],
        decisive: Decisive = ALWAYS,
    ) -> None:
        self.classes = classes
        self.configs = configs
        self.gpus = gpus
        self.shared = shared
        self.decisive = decisive

    def add(self, node: Node, bit: Nodes, sets: NodeSets) -> None:
        """Add a node, which this bit stands for, to the sets of those that share cards."""
        classes, config = self.classes, self.configs.of(node)
        if any(may_have(node, key) for key in classes.telling) or may_have(node, CONFIG_LABEL):
            _put(sets.members, "undecided", bit)
        if classes.mps.marks(node):
            _put(sets.members, "mps", bit)
        elif classes.time_slicing.marks(node):
            _put(sets.members, "time-slicing", bit)
        if config is None or config.strategy == "none":
            if not classes.mps.labels:  # no configuration of the plugin shows a daemon on the host
                _put(sets.members, "any", bit)
            elif config is None and self._is_undiscovered(node):
                _put(sets.members, "undiscovered", bit)
        else:
            if not (classes.mps.marks(node) or classes.time_slicing.marks(node)):
                _put(sets.members, "unlabelled", bit)
            acceptance = self.configs.accepts(config)
            for shared in config.resources:
                _put(sets.shares, (config.strategy, shared.name), bit)
                _put(sets.accepting, (config.strategy, shared.name, acceptance), bit)
        gpus = [name for name in node.resources if name in self.gpus]
        if not any(node.resources[name] for name in gpus):
            for name in gpus:
                _put(sets.unready, name, bit)

    def _is_undiscovered(self, node: Node) -> bool:
        """Whether only labels can show how a node shares its cards, and none does."""
        discovered = self.classes.are_discovered
        return discovered and not self.classes.are_shown_by(node) and not self.shared.isdisjoint(node.resources)


def sets_of(nodes: Sequence[Node], sharing: NodeSharing) -> NodeSets:
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
            _put(sets.incomplete, part, bit)
        if "labels" in node.incomplete:
            for each in node.certain_labels:
                _put(sets.certain, each, bit)
        sharing.add(node, bit, sets)
        bit <<= 1
    return sets
