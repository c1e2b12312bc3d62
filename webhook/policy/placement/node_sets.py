"""Sets of nodes by what the nodes have: labels, taints, amounts of resources, and how they share their cards.

A set of nodes is an integer with one bit per node, so intersecting the sets of two selectors is one operation, however
many nodes there are.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from webhook.policy.placement.facts import label_kind, may_have
from webhook.policy.placement.node_bounds import ALWAYS, Decisive, cut
from webhook.policy.placement.node_classes import CONFIG_LABEL, NodeClasses
from webhook.policy.placement.selector import NAME_FIELD
from webhook.policy.pods.gpu_resources import MIG

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Node

Nodes: TypeAlias = int
"""A set of nodes: bit n stands for the n-th node of the index."""

KeyAndEffect: TypeAlias = tuple[str, str]
"""The key and the effect of a taint."""

Trait: TypeAlias = tuple[object, ...]
"""Words and names that say what is true of a node, such as `("shares", "mps", "nvidia.com/gpu")`."""

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

    `traits`: the nodes by all else that is true of them, in words. `size`: the number of different labels, taints and
    amounts that were merged.
    """

    def __init__(self) -> None:
        self.labels: dict[str, dict[str, Nodes]] = {}
        self.taints: dict[KeyAndEffect, dict[str, Nodes]] = {}
        self.amounts: dict[str, dict[int, Nodes]] = {}
        self.traits: dict[Trait, Nodes] = {}
        self.size = 0

    def having(self, *trait: object) -> Nodes:
        """The nodes with a trait."""
        return self.traits.get(trait, 0)

    def known_of(self, node: Node, sharing: NodeSharing) -> Node:
        """The node with its decisive labels, its amounts of GPUs, and the entries that earlier nodes have as well.

        MIG has too many names for that.
        """
        labels = {
            key: value
            for key, value in node.labels.items()
            if value in self.labels.get(key, ()) or label_kind(key) in sharing.decisive.labels
        }
        taints = [taint for taint in node.taints if taint.value in self.taints.get((taint.key, taint.effect), ())]
        resources = {
            name: amount
            for name, amount in node.resources.items()
            if amount in self.amounts.get(name, ()) or (name in sharing.gpus and not name.startswith(MIG))
        }
        return cut(node, labels, taints, resources, sharing.decisive)

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


class NodeSharing(NamedTuple):
    """How nodes share their cards: by their labels, and by the device plugin's configurations.

    `gpus` contains the names of GPU resources, `shared` those whose units may be replicas. `decisive` labels are kept
    of every node.
    """

    classes: NodeClasses
    gpus: Container[str]
    shared: frozenset[str]
    decisive: Decisive = ALWAYS

    def traits(self, node: Node) -> Iterator[Trait]:
        """The traits by which a node shares cards."""
        classes, config = self.classes, self.classes.configs.of(node)
        marked = classes.marked(node)
        if any(may_have(node, key) for key in classes.telling) or may_have(node, CONFIG_LABEL):
            yield ("undecided",)
        if marked is not None:
            yield (marked,)
        if config is None or config.strategy == "none":
            if not classes.mps.labels:  # no configuration of the plugin shows a daemon on the host
                yield ("any",)
            elif config is None and self._is_undiscovered(node):
                yield ("undiscovered",)
        else:
            if marked is None:
                yield ("unlabelled",)
            several = classes.configs.accept_several(config)
            for shared in config.resources:
                yield "shares", config.strategy, shared.name
                yield "accepting", config.strategy, shared.name, several
        gpus = [name for name in node.resources if name in self.gpus]
        if not any(node.resources[name] for name in gpus):
            for name in gpus:
                yield "unready", name

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
            _put(sets.traits, ("incomplete", part), bit)
        if "labels" in node.incomplete:
            for each in node.certain_labels:
                _put(sets.traits, ("certain", each), bit)
        for trait in sharing.traits(node):
            _put(sets.traits, trait, bit)
        bit <<= 1
    return sets
