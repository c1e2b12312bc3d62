"""The node affinity that keeps a pod on nodes with whole cards: it excludes every label of nodes that share theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from webhook.policy.placement.node_classes import STRATEGY, NodeClasses
from webhook.policy.placement.plugin_configs import CONFIG_LABEL, PluginConfigs
from webhook.policy.placement.selector import Constraint, Domain, Requirement

_LONGEST = 200
"""Characters of node affinity that a remedy spells out. A line of a denial has about 300 characters."""


class Expression(NamedTuple):
    """An expression of node affinity."""

    key: str
    operator: Literal["In", "NotIn"]
    values: tuple[str, ...]

    def __str__(self) -> str:
        # Values are quoted as YAML needs them: without quotes `true` would not be text.
        quoted = ", ".join(f'"{value}"' for value in self.values)
        return f"{self.key} {self.operator} [{quoted}]"


class WholeCards:
    """The expressions that admit nodes with whole cards alone, and the labels of such nodes."""

    __slots__ = ("expressions", "labels", "text")

    def __init__(self, classes: NodeClasses, expressions: Sequence[Expression]) -> None:
        self.expressions = expressions
        self.labels: Mapping[str, Domain] = {
            **classes.whole,
            **{
                each.key: _domain(each)
                for each in expressions
                if each.operator == "In" or each.key not in classes.whole
            },
        }
        spelled = " and ".join(map(str, expressions))
        self.text = spelled if len(spelled) <= _LONGEST else _SUMMARY
        """The expressions, in words."""

    def requirement(self) -> Requirement:
        """The expressions as what a pod requires of its node."""
        term: dict[str, Constraint] = {}
        for each in self.expressions:
            term.setdefault(each.key, Constraint()).add(each.operator, each.values)
        return Requirement({}, [term])


_UNSHARED = Expression(STRATEGY, "In", ("none",))
_SUMMARY = "NotIn for each label of placement.mpsLabels and timeSlicingLabels"


def whole_cards(
    classes: NodeClasses, configs: PluginConfigs, *, labels_suffice: bool, all_discovered: bool
) -> WholeCards:
    """What excludes the nodes of the sharing classes, and by their configuration those that have none of the labels.

    Unless all nodes are discovered, only the label that GPU feature discovery sets there marks whole cards.
    """
    expressions = [Expression(key, "NotIn", values) for key, values in classes.excluded.items()]
    if not all_discovered:
        expressions = [_UNSHARED, *(each for each in expressions if each.key != STRATEGY)]
    if not labels_suffice:
        expressions += _by_config(configs)
    return WholeCards(classes, expressions)


def _by_config(configs: PluginConfigs) -> list[Expression]:
    """The label of nodes whose configuration does not share cards. Nodes without it have the default."""
    sharing, whole = configs.sharing
    if configs.default in sharing:
        return [Expression(CONFIG_LABEL, "In", whole)] if whole else []
    return [Expression(CONFIG_LABEL, "NotIn", sharing)] if sharing else []


def _domain(expression: Expression) -> Domain:
    values = frozenset(expression.values)
    return Domain(only=values) if expression.operator == "In" else Domain(but=values, absent=True)
