"""The nodes of a cluster as far as they are known, with the declared node groups, and how they share their cards.

`WholeCards` is the node affinity that keeps a pod on nodes with whole cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from webhook.policy.placement.facts import NOTHING_SHOWN, Facts, Shown
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.placement.node_classes import SHARING, STRATEGY, NodeClasses, SharingStrategy
from webhook.policy.placement.node_index import NodeIndex, indexing
from webhook.policy.placement.node_sets import KeyAndEffect, Nodes
from webhook.policy.placement.selector import Constraint, Expression, Requirement
from webhook.policy.placement.taints import TaintIndex, is_lifecycle
from webhook.policy.settings.settings import Settings
from webhook.policy.steps import Steps

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Node
    from webhook.policy.settings.elements import NodeGroup


_MOST_TOLERABLE = 16
"""Taints of nodes that pods get tolerations for. Clusters have a handful that match."""


class ClusterNodes:
    """Where pods can run. `known`: `index` holds all GPU nodes of the cluster, or the groups describe all of them.

    `decide`: the nodes of the index that could take a pod show how it may share a card, even if others are not known.
    `are_shown`: objects show how nodes share their cards. `refused`: the configurations that the plugin refuses.
    `tolerable`: keys and effects of the nodes' taints that the settings allow to tolerate. `dynamic`: the resources
    that a DeviceClass serves (KEP-5004), on nodes that are not in the index. `taint_keys`: those of all taints and of
    configured tolerations. `admitted_to_whole_cards`: the nodes that meet the expressions of `whole_cards`.
    """

    def __init__(
        self, settings: Settings, facts: Facts, classes: NodeClasses, index: NodeIndex, shown: Shown = NOTHING_SHOWN
    ) -> None:
        tolerations, served = settings.injections.tolerations, facts.device_classes or ()
        self.classes = classes
        self.index = index
        self.known = facts.nodes is not None or settings.placement.groups_are_complete
        self.decide = self.known or bool(shown.nodes)
        self._strategies = shown.strategies
        self.refused = shown.refused
        self.are_shown = shown.strategies is not None or any(
            index.sharing(strategy, resource.name) & ~index.unknown
            for resource in (settings.resources if shown.nodes else ())
            for strategy in SHARING
        )
        self.tolerable = _tolerable(index.taints, tolerations.from_nodes) if tolerations.enabled else ()
        self.dynamic = frozenset(each.extended_resource_name for each in served if each.extended_resource_name)
        configured = {toleration.key for toleration in tolerations.add} | {each.name for each in settings.resources}
        self.taint_keys = configured.union(key for key, _ in index.taints.by_key)
        self.whole_cards = WholeCards(
            classes, labels_suffice=self.known and not index.unlabelled, all_discovered=not index.undiscovered
        )
        self.admitted_to_whole_cards = index.selected(self.whole_cards.requirement())

    def may_share(self, strategy: SharingStrategy) -> bool:
        """Whether nodes of which nothing is known may share their cards in this way."""
        return self._strategies is None or strategy in self._strategies

    def shares_otherwise(self, strategy: SharingStrategy, resource: str, nodes: Nodes) -> bool:
        """Whether one of these nodes, which objects show, shares a resource, and nothing shown does in this way."""
        (other,) = (one for one in SHARING if one != strategy)
        is_shown = self._strategies is not None and strategy in self._strategies
        return not is_shown and bool(nodes & self.index.sharing(other, resource) & ~self.index.unknown)

    def selected_by(self, selector: Mapping[str, str]) -> Nodes:
        """The nodes that a node selector alone selects."""
        return self.index.selected(Requirement(selector, None))


def cluster_nodes(settings: Settings, facts: Facts, shown: Shown = NOTHING_SHOWN) -> Steps[ClusterNodes]:
    """The nodes of settings and facts, and those that objects show."""
    classes = NodeClasses(settings, facts.device_plugin)
    groups = [_as_node(group) for group in settings.placement.node_groups]
    index = yield from indexing((*(facts.nodes or ()), *shown.nodes), classes, groups, Decisive.of(settings))
    return ClusterNodes(settings, facts, classes, index, shown)


def _as_node(group: NodeGroup) -> Node:
    from webhook.policy.placement.cluster_objects import Node, Taint  # few settings have node groups

    taints = tuple(Taint(taint.key, taint.effect, taint.value) for taint in group.taints)
    return Node(group.name, group.labels, taints, group.resources)


def _tolerable(taints: TaintIndex, patterns: Sequence[str]) -> Sequence[KeyAndEffect]:
    """The matching taints with the most nodes, so that no single node decides which pods tolerate.

    Taints with equally many are in the order of their names, so that replicas agree.
    """
    matching = [
        (key, effect)
        for key, effect in taints.by_key
        if any(fnmatchcase(key, pattern) for pattern in patterns) and not is_lifecycle(key)
    ]
    return sorted(matching, key=lambda each: (-taints.having(each).bit_count(), each))[:_MOST_TOLERABLE]


_LONGEST = 200
"""Characters of node affinity that a remedy spells out. A line of a denial has about 300 characters."""


class WholeCards:
    """The expressions that admit nodes with whole cards alone, and the labels of such nodes.

    They exclude the nodes of sharing classes, by their configuration too unless `labels_suffice`: some nodes lack the
    labels. Unless `all_discovered`, only the label that GPU feature discovery sets marks whole cards. `text` spells the
    expressions out.
    """

    __slots__ = ("expressions", "labels", "text")

    def __init__(self, classes: NodeClasses, *, labels_suffice: bool, all_discovered: bool) -> None:
        self.expressions = [Expression(key, "NotIn", values) for key, values in classes.excluded.items()]
        if not all_discovered:
            self.expressions = [_UNSHARED, *(each for each in self.expressions if each.key != STRATEGY)]
        if not labels_suffice:
            self.expressions += classes.configs.label_of_whole_cards()
        self.labels = {
            **classes.whole,
            **{
                each.key: each.constraint
                for each in self.expressions
                if each.operator == "In" or each.key not in classes.whole
            },
        }
        spelled = " and ".join(map(_spelled, self.expressions))
        self.text = spelled if len(spelled) <= _LONGEST else _SUMMARY

    def requirement(self) -> Requirement:
        """The expressions as what a pod requires of its node."""
        term: dict[str, Constraint] = {}
        for each in self.expressions:
            term.setdefault(each.key, Constraint()).add(each.operator, each.values)
        return Requirement({}, [term])


_UNSHARED = Expression(STRATEGY, "In", ("none",))
_SUMMARY = "NotIn for each label of placement.mpsLabels and timeSlicingLabels"


def _spelled(expression: Expression) -> str:
    # Values are quoted as YAML needs them: without quotes `true` would not be text.
    quoted = ", ".join(f'"{value}"' for value in expression.values)
    return f"{expression.key} {expression.operator} [{quoted}]"
