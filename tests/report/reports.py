"""Hand-made reports for tests."""

from __future__ import annotations

from webhook.diagnostics import Diagnostic
from webhook.policy.verdict import Finding, Severity
from webhook.report import Located, Report, Result, Subject

POD = Subject("v1", "Pod", "team-a", "train")
DENIAL = Located(Finding("GPS001", Severity.DENY, ("spec",), "too many", "ask for 1"), "/spec", 7, 3)
WARNING = Located(Finding("GPS005", Severity.WARN, (), "hides it", "leave it out"), "", 1, 1)
NOTE = Located(Finding("GPS015", Severity.AUDIT, ("spec",), "no grace", "give some"), "/spec", 7, 3)
PATCH = {"op": "add", "path": "/spec/runtimeClassName", "value": "nvidia"}
UNREADABLE = Diagnostic("b.yaml", 3, 5, "not YAML")
MISSING = Diagnostic("c.yaml", 0, 0, "no such file or folder")


def result(decision: str, *findings: Located, subject: Subject = POD) -> Result:
    """Return a result with a decision and findings."""
    return Result("a.yaml", 2, 5, subject, decision, findings)


def report(*parts: Result | Diagnostic) -> Report:
    """Return a report of results and errors."""
    results = [part for part in parts if isinstance(part, Result)]
    return Report(results, [part for part in parts if isinstance(part, Diagnostic)])
