"""Verdicts about live objects that a change alters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from webhook.live.audit.census import Audited
from webhook.live.audit.outcome import Outcome
from webhook.policy.verdict import Decision, Finding, Path, Severity


class Turn(Enum):
    """How the verdict about an object changes. The value is the word of reports, the most important first."""

    DENIED = "newly denied"
    WORSE = "new findings"
    BETTER = "findings gone"
    ADMITTED = "no longer denied"

    @property
    def is_worse(self) -> bool:
        return self in (Turn.DENIED, Turn.WORSE)


class VerdictChange(NamedTuple):
    """An object whose verdict changes, with the findings that come and go."""

    turn: Turn
    row: Audited
    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]


def verdict_changes(rows: Iterable[Audited]) -> Iterator[VerdictChange]:
    """The objects whose outcome in the second world differs from that in the first, the worst changes first."""
    found = [one for row in rows if (one := _change(row)) is not None]
    turns = list(Turn)
    yield from sorted(found, key=lambda one: (turns.index(one.turn), one.row.where, one.row.by_pod))


def _change(row: Audited) -> VerdictChange | None:
    """The change of one object. Findings of the severity `audit`, which users do not see, change nothing."""
    before, after = row.outcomes
    was, becomes = _seen(before), _seen(after)
    new = tuple(one for key, one in becomes.items() if key not in was)
    gone = tuple(one for key, one in was.items() if key not in becomes)
    denied = Decision.DENIED
    if (before.decision is denied) != (after.decision is denied):
        return VerdictChange(Turn.DENIED if after.decision is denied else Turn.ADMITTED, row, new, gone)
    if new or (after.problem and not before.problem):
        return VerdictChange(Turn.WORSE, row, new, gone)
    return VerdictChange(Turn.BETTER, row, new, gone) if gone else None


def _seen(outcome: Outcome) -> dict[tuple[str, Severity, Path], Finding]:
    return {(one.code, one.severity, one.path): one for one in outcome.findings if one.severity >= Severity.WARN}
