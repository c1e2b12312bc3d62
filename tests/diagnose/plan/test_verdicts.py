"""Verdicts that differ between two worlds, and those that do not."""

from __future__ import annotations

from collections import Counter

import pytest

from webhook.diagnose.audit import Audited
from webhook.diagnose.plan.report import Plan, verdict_changes
from webhook.policy.verdict import DECISIONS, UNTOUCHED, Finding, Severity, Verdict, skipped
from webhook.report.model import Subject


def finding(code: str, severity: Severity = Severity.DENY) -> Finding:
    return Finding(code, severity, ("spec",), "m", "r")


def verdict(*findings: Finding) -> Verdict:
    counts = Counter((one.code, one.severity) for one in findings)
    return Verdict(DECISIONS[max(one.severity for one in findings)], findings, (), counts)


DENIED, WARNED = verdict(finding("GPS001")), verdict(finding("GPS001", Severity.WARN))
OTHER = verdict(finding("GPS001"), finding("GPS004"))
AUDITED = verdict(finding("GPS001", Severity.AUDIT))


def row(before: Verdict, after: Verdict, name: str = "a") -> Audited:
    return Audited(Subject("v1", "Pod", "team-a", name), (before, after), 1)


@pytest.mark.parametrize(
    ("before", "after", "change", "new", "gone"),
    [
        (UNTOUCHED, DENIED, "denied", ["GPS001"], []),
        (WARNED, DENIED, "denied", ["GPS001"], ["GPS001"]),
        (DENIED, WARNED, "admitted", ["GPS001"], ["GPS001"]),
        (DENIED, OTHER, "worse", ["GPS004"], []),
        (UNTOUCHED, WARNED, "worse", ["GPS001"], []),
        (UNTOUCHED, skipped("malformed"), "worse", [], []),
        (WARNED, UNTOUCHED, "better", [], ["GPS001"]),
    ],
)
def test_change_of_verdict(before: Verdict, after: Verdict, change: str, new: list[str], gone: list[str]) -> None:
    (found,) = verdict_changes([row(before, after)])
    codes = [[one["code"] for one in found[part]] for part in ("new", "gone")]
    assert (found["change"], *codes) == (change, new, gone)
    assert Plan(verdicts=[found]).is_worse is (change in ("denied", "worse"))


@pytest.mark.parametrize(("before", "after"), [(UNTOUCHED, UNTOUCHED), (DENIED, DENIED), (UNTOUCHED, AUDITED)])
def test_equal_verdict_and_finding_that_nobody_sees_are_silent(before: Verdict, after: Verdict) -> None:
    assert verdict_changes([row(before, after)]) == []


def test_worst_changes_come_first() -> None:
    rows = [row(DENIED, UNTOUCHED, "a"), row(UNTOUCHED, WARNED, "b"), row(UNTOUCHED, DENIED, "c")]
    assert [one["object"]["name"] for one in verdict_changes(rows)] == ["c", "b", "a"]
