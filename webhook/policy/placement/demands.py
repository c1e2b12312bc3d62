"""What a pod demands of its node, one demand per entry of the node selector and per expression, each with its path.

`selector` merges these for a fast answer. A message needs the single entry that a node fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from webhook.policy.placement.selector import (
    FIELD,
    NAME_FIELD,
    Constraint,
    expressions,
    node_selector,
    required_terms,
    terms_path,
)
from webhook.policy.pods.pod import Pod
from webhook.policy.verdict import Path

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Node

MOST_TERMS = 8
MOST_DEMANDS = 64
"""Terms, and demands of one term with those of the node selector, that are listed. No author reads more."""

_SELECTOR = "nodeSelector"
_SHOWN_VALUES = 3


class Demand:
    """A demand on one label or field of the node. `path` leads to it; `key` starts with FIELD for a field."""

    __slots__ = ("constraint", "key", "operator", "path", "values")

    def __init__(self, path: Path, key: str, operator: str, values: Sequence[str]) -> None:
        self.path = path
        self.key = key
        self.operator = operator
        self.values = values
        self.constraint = Constraint()
        self.constraint.add(operator, values)

    @property
    def is_selector(self) -> bool:
        """Whether it is an entry of the node selector."""
        return self.path[-2] == _SELECTOR

    @property
    def name(self) -> str:
        return self.key.removeprefix(FIELD)

    def held_by(self, node: Node) -> str | None:
        """The value that a node has; None without one."""
        return node.name if self.key == NAME_FIELD else node.labels.get(self.key)

    def __str__(self) -> str:
        """As `key=value` or `key operator [values]`, with the first few values."""
        if self.is_selector:
            return f"{self.name}={self.values[0]}"
        shown = ", ".join(
            [*self.values[:_SHOWN_VALUES], *("…" for _ in self.values[_SHOWN_VALUES : _SHOWN_VALUES + 1])]
        )
        return f"{self.name} {self.operator} [{shown}]" if shown else f"{self.name} {self.operator}"


def alternatives(pod: Pod) -> list[list[Demand]] | None:
    """The demands of the node selector with those of each term that is not empty: a node must meet one of the lists.

    None if there are more than are listed. Raises MalformedError.
    """
    path = pod.path_of(_SELECTOR)
    selector = node_selector(pod)
    if len(selector) > MOST_DEMANDS:
        return None
    common = [Demand((*path, key), key, "In", (value,)) for key, value in selector.items()]
    terms = required_terms(pod)
    if terms is None:
        return [common]
    path = terms_path(pod)
    if len(terms) > MOST_TERMS:
        return None
    listed = []
    for index, term in enumerate(terms):
        found = expressions(term, (*path, index))
        demands = [Demand(place, key, operator, values) for key, operator, values, place in islice(found, MOST_DEMANDS)]
        if len(common) + len(demands) > MOST_DEMANDS or next(found, None) is not None:
            return None
        if demands:
            listed.append([*common, *demands])
    return listed
