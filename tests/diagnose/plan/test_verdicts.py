"""Verdicts that differ between two worlds, and those that do not."""

from __future__ import annotations

import pytest

from webhook.diagnose.audit.census import Audited
from webhook.diagnose.audit.outcome import ALLOWED, Outcome
from webhook.diagnose.plan.effects import Turn, verdict_changes
from webhook.policy.verdict import DECISIONS, Finding, Severity
from webhook.report.model import Subject


def finding(code: str, severity: Severity = Severity.DENY) -> Finding:
    return Finding(code, severity, ("spec",), "m", "r")


def outcome(*findings: Finding) -> Outcome:
    return Outcome(DECISIONS[max(one.severity for one in findings)], findings)


DENIED, WARNED = outcome(finding("GPS001")), outcome(finding("GPS001", Severity.WARN))
OTHER = outcome(finding("GPS001"), finding("GPS004"))
AUDITED = outcome(finding("GPS001", Severity.AUDIT))


def row(before: Outcome, after: Outcome, name: str = "a") -> Audited:
    return Audited(Subject("v1", "Pod", "team-a", name), 1, "", (before, after))


@pytest.mark.parametrize(
    ("before", "after", "turn", "new", "gone"),
    [
        (ALLOWED, DENIED, Turn.DENIED, ["GPS001"], []),
        (WARNED, DENIED, Turn.DENIED, ["GPS001"], ["GPS001"]),
        (DENIED, WARNED, Turn.ADMITTED, ["GPS001"], ["GPS001"]),
        (DENIED, OTHER, Turn.WORSE, ["GPS004"], []),
        (ALLOWED, WARNED, Turn.WORSE, ["GPS001"], []),
        (WARNED, ALLOWED, Turn.BETTER, [], ["GPS001"]),
    ],
)
def test_change_of_verdict(before: Outcome, after: Outcome, turn: Turn, new: list[str], gone: list[str]) -> None:
    (found,) = verdict_changes([row(before, after)])
    assert (found.turn, [one.code for one in found.new], [one.code for one in found.gone]) == (turn, new, gone)
    assert found.turn.is_worse is (turn in (Turn.DENIED, Turn.WORSE))


@pytest.mark.parametrize(("before", "after"), [(ALLOWED, ALLOWED), (DENIED, DENIED), (ALLOWED, AUDITED)])
def test_equal_verdict_and_finding_that_nobody_sees_are_silent(before: Outcome, after: Outcome) -> None:
    assert list(verdict_changes([row(before, after)])) == []


def test_worst_changes_come_first() -> None:
    rows = [row(DENIED, ALLOWED, "a"), row(ALLOWED, WARNED, "b"), row(ALLOWED, DENIED, "c")]
    assert [one.row.subject.name for one in verdict_changes(rows)] == ["c", "b", "a"]
