"""The text of an audit."""

from __future__ import annotations

from collections import Counter
from typing import Any

from webhook.diagnose.audit import Audit, Audited
from webhook.policy.verdict import DECISIONS, UNTOUCHED, Decision, Finding, Severity, Verdict, skipped
from webhook.report.model import Subject


def finding(code: str = "GPS001", severity: Severity = Severity.DENY, message: str = "too many") -> Finding:
    return Finding(code, severity, ("spec", "containers", 0), message, "ask for 1")


def verdict(*findings: Finding, **rest: Any) -> Verdict:
    counts = Counter((one.code, one.severity) for one in findings)
    return Verdict(DECISIONS[max(one.severity for one in findings)], findings, (), **{"counts": counts, **rest})


def row(name: str, said: Verdict, namespace: str = "team-a", kind: str = "Deployment", **rest: Any) -> Audited:
    version = "v1" if kind == "Pod" else "apps/v1"
    return Audited(Subject(version, kind, namespace, name), (said,), rest.get("pods", 1), rest.get("by_pod", ""))


def lines(*rows: Audited, width: int | None = None) -> list[str]:
    return list(Audit(rows).lines(width))


def test_text_lists_findings_of_each_object_and_remedies_once() -> None:
    shown = lines(
        row("llm", verdict(finding(), finding("GPS009", Severity.WARN, "host")), pods=40),
        row("web", UNTOUCHED),
        row("bert", verdict(finding()), "team-b", "Trainer", pods=3, by_pod="bert-0"),
    )
    assert shown == [
        "denied: Deployment team-a/llm, 40 pods",
        "  GPS001 deny: too many at /spec/containers/0",
        "  GPS009 warn: host at /spec/containers/0",
        "denied: Trainer team-b/bert, 3 pods (checked: pod bert-0)",
        "  GPS001 deny: too many at /spec/containers/0",
        "",
        "Remedies (gpushare-webhook explain CODE tells more):",
        "  GPS001 ask for 1",
        "  GPS009 ask for 1",
        "",
        "3 objects with 44 pods: 1 allowed, 2 denied",
    ]


def test_text_says_what_is_exempt_omitted_and_unreadable() -> None:
    exempt = Verdict(Decision.ALLOWED, (), (), reason="exempt: why")
    shown = lines(
        *(row("a", exempt, f"n{number:02}") for number in range(12)),
        row("b", verdict(finding(), counts={("GPS001", Severity.DENY): 8})),
        row("c", skipped("spec: expected a mapping")),
    )
    assert "  and 7 more findings of GPS001" in shown
    assert "  cannot be checked: spec: expected a mapping" in shown
    assert "12 objects exempt: why (n00, n01, n02, n03, n04, n05, n06, n07, n08, n09 and 2 more)" in shown
    assert shown[-1] == "14 objects with 14 pods: 12 allowed, 1 denied, 1 error"


def test_text_of_empty_cluster() -> None:
    assert lines() == ["0 objects with 0 pods: nothing to check"]


def test_lines_fit_the_terminal_and_hide_control_characters() -> None:
    shown = lines(row("\x1b[31mred", verdict(finding(message="word " * 60))), width=80)
    assert max(map(len, shown)) <= 80
    assert "\x1b" not in "".join(shown)
