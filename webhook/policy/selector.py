"""Which nodes a pod's selectors allow: on real labels yes or no, on a node that is only described by domains maybe.

A node selector and the required node affinity become terms: any term suffices, all expressions of a term must hold
(kubernetes/kubernetes component-helpers scheduling/corev1/nodeaffinity). An empty term matches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.policy.pod import Members, Pod, elements, members, text, texts
from webhook.policy.verdict import Path

NAME_FIELD = "metadata.name"
AFFINITY = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_TERMS = "nodeSelectorTerms"


@dataclass(frozen=True, slots=True)
class Domain:
    """The values that a label may have on a kind of node.

    `only`: just these. `but`: any text except these. `least`: whole numbers from here up. `suffix`: text with this
    ending. `absent`: the node may lack the label.
    """

    only: frozenset[str] | None = None
    but: frozenset[str] = frozenset()
    least: int | None = None
    suffix: str = ""
    absent: bool = False

    def allows(self, value: str) -> bool:
        """Whether the label may have this value."""
        if self.only is not None:
            return value in self.only
        if self.least is not None:
            number = _integer(value)
            return number is not None and number >= self.least
        return value not in self.but and value.endswith(self.suffix)


FREE = Domain(absent=True)
"""Nothing is known about the label."""


class _Constraint:
    """What the expressions of one term say about one label."""

    __slots__ = ("above", "absent", "below", "excluded", "present", "values")

    def __init__(self) -> None:
        self.values: set[str] | None = None
        self.excluded: set[str] = set()
        self.present = self.absent = False
        self.above: int | None = None
        self.below: int | None = None

    def add(self, operator: str, values: Sequence[str]) -> None:
        """Take one more expression about the label."""
        number = _integer(values[0]) if len(values) == 1 else None
        match operator:
            case "In":
                self.values = set(values) if self.values is None else self.values & set(values)
            case "NotIn":
                self.excluded |= set(values)
            case "Exists":
                self.present = True
            case "DoesNotExist":
                self.absent = True
            case "Gt" if number is not None:
                self.above = number if self.above is None else max(self.above, number)
            case "Lt" if number is not None:
                self.below = number if self.below is None else min(self.below, number)

    def holds(self, value: str | None) -> bool:
        """Whether a label with this value, or without one, satisfies the expressions."""
        if value is None:
            return self.values is None and not self.present and self.above is None and self.below is None
        return (
            not self.absent
            and (self.values is None or value in self.values)
            and value not in self.excluded
            and self._in_range(value)
        )

    def _in_range(self, value: str) -> bool:
        if self.above is None and self.below is None:
            return True
        number = _integer(value)
        return (
            number is not None
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )

    def satisfiable(self, domain: Domain) -> bool:
        """Whether some value of the domain, or its absence, satisfies the expressions."""
        if domain.absent and self.holds(None):
            return True
        if self.values is not None or domain.only is not None:
            candidates: Iterable[str] = self.values if self.values is not None else domain.only or ()
            return any(domain.allows(value) and self.holds(value) for value in candidates)
        if self.absent:
            return False
        if self.above is None and self.below is None and domain.least is None:
            return True  # text without end, and finitely much of it excluded
        return not domain.suffix and self._some_number(domain)

    def _some_number(self, domain: Domain) -> bool:
        lows = [] if self.above is None else [self.above + 1]
        lows += [] if domain.least is None else [domain.least]
        if not lows or self.below is None:
            return True
        low = max(lows)
        excluded = {number for value in self.excluded | domain.but if (number := _integer(value)) is not None}
        return self.below - low > sum(low <= number < self.below for number in excluded)


def _integer(value: str) -> int | None:
    """The value as the scheduler's ParseInt reads it: 64 bits, leading zeros and one sign allowed."""
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not digits.isascii() or not digits.isdigit():
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > _LONGEST:
        return None
    number = -int(digits) if value[0] == "-" else int(digits)
    return number if -(2**63) <= number < 2**63 else None


_LONGEST = 19
"""Digits of the largest number of 64 bits."""

Term = Mapping[str, _Constraint]


class Requirement:
    """All that a pod requires of its node's labels and name. `terms` is empty when no node can satisfy it."""

    __slots__ = ("terms",)

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = terms

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node with these labels and this name satisfies it."""
        return any(
            all(constraint.holds(name if key == NAME_FIELD else labels.get(key)) for key, constraint in term.items())
            for term in self.terms
        )

    def satisfiable(self, world: Mapping[str, Domain]) -> bool:
        """Whether some node of a world could satisfy it. Labels that the world does not name are free."""
        return any(
            all(constraint.satisfiable(world.get(key, FREE)) for key, constraint in term.items()) for term in self.terms
        )


def requirement(pod: Pod) -> Requirement | None:
    """What the pod requires of its node, or None when it requires nothing. Raises MalformedError."""
    if pod.spec.get("nodeSelector") is None and pod.spec.get("affinity") is None:
        return None
    wanted = pod.members("nodeSelector")
    alternatives = _alternatives(pod)
    if not wanted and alternatives is None:
        return None
    terms = []
    for expressions in [[]] if alternatives is None else filter(None, alternatives):
        term: dict[str, _Constraint] = {}
        for key in wanted:
            value = text(wanted, key, (*pod.spec_path, "nodeSelector"))
            term.setdefault(key, _Constraint()).add("In", (value,))
        for key, operator, values in expressions:
            term.setdefault(key, _Constraint()).add(operator, values)
        terms.append(term)
    return Requirement(terms)


_Expression = tuple[str, str, list[str]]


def _alternatives(pod: Pod) -> list[list[_Expression]] | None:
    """The expressions of each term of the required node affinity, or None without one."""
    node: Any = pod.spec
    path = pod.spec_path
    for field in AFFINITY:
        node = members(node, field, path)
        if not node:
            return None
        path = (*path, field)
    terms = elements(node, _TERMS, path)
    return [_expressions(term, (*path, _TERMS, index)) for index, term in enumerate(terms)]


def _expressions(term: Members, path: Path) -> list[_Expression]:
    found = []
    for field in ("matchExpressions", "matchFields"):
        for index, raw in enumerate(elements(term, field, path)):
            place = (*path, field, index)
            found.append((text(raw, "key", place), text(raw, "operator", place), texts(raw, "values", place)))
    return found
