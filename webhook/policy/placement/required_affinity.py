"""The required node affinity of a pod with more expressions in it: as edits, and as what the pod then requires.

The terms of an affinity are alternatives, so an added expression must be in each of them. Empty terms match nothing and
stay empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from webhook.policy.placement.selector import Requirement, required_terms, requirement_with, terms_path
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Append, Edit

Expression: TypeAlias = dict[str, Any]
"""An expression about a label, in the form of the pod's spec."""

Conjunction: TypeAlias = Sequence[Expression]
"""Expressions that must all hold."""


class RequiredAffinity:
    """A pod's required affinity, of which each term also requires one of some conjunctions.

    `alternatives` holds these conjunctions for each term that is not empty; an empty conjunction leaves the term as it
    is. For a pod without terms it holds one entry, whose conjunctions become the terms.
    """

    __slots__ = ("_alternatives", "_extended", "_path", "_pod")

    def __init__(self, pod: Pod, alternatives: Sequence[Sequence[Conjunction]]) -> None:
        self._pod = pod
        self._path = terms_path(pod)
        self._extended = _with_expressions(pod)
        self._alternatives = alternatives

    @classmethod
    def unchanged(cls, pod: Pod) -> RequiredAffinity:
        """The pod's own affinity."""
        terms = _with_expressions(pod)
        return cls(pod, [[()]] * (1 if terms is None else len(terms)))

    def also(self, added: Conjunction) -> RequiredAffinity:
        """The affinity that also requires these expressions."""
        return RequiredAffinity(self._pod, [[(*one, *added) for one in several] for several in self._alternatives])

    def requirement(self) -> Requirement:
        """What the pod requires of its node with this affinity."""
        if self._extended is None:
            return requirement_with(self._pod, [{"matchExpressions": [*one]} for one in self._alternatives[0]])
        return requirement_with(
            self._pod,
            [
                _extended(term, one)
                for (_, term), several in zip(self._extended, self._alternatives, strict=True)
                for one in several
            ],
        )

    def edits(self) -> Iterator[Edit]:
        """The edits that make the affinity: the first conjunction in each term, and a copy of it for each other."""
        if self._extended is None:
            yield from (Append(self._path, {"matchExpressions": [*one]}) for one in self._alternatives[0] if one)
            return
        together = list(zip(self._extended, self._alternatives, strict=True))
        for (index, _), several in together:
            for expression in several[0]:
                yield Append((*self._path, index, "matchExpressions"), expression)
        for (_, term), several in together:
            for one in several[1:]:
                yield Append(self._path, _extended(term, one))


def _with_expressions(pod: Pod) -> list[tuple[int, Members]] | None:
    """The terms that are not empty, with their indices; None for a pod without terms."""
    terms = required_terms(pod)
    if not terms:
        return None
    return [
        (index, term) for index, term in enumerate(terms) if term.get("matchExpressions") or term.get("matchFields")
    ]


def _extended(term: Members, added: Conjunction) -> Members:
    copied: Members = {"matchExpressions": [*(term.get("matchExpressions") or ()), *added]}
    if term.get("matchFields"):
        copied["matchFields"] = term["matchFields"]
    return copied


def characters(pod: Pod) -> int:
    """The length of the texts in the required terms, with the quotes and the comma of each."""
    return sum(
        len(text or "") + 3
        for _, term in _with_expressions(pod) or ()
        for field in ("matchExpressions", "matchFields")
        for expression in term.get(field) or ()
        for text in (expression.get("key"), expression.get("operator"), *(expression.get("values") or ()))
    )
