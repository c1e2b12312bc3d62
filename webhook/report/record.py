"""The entries of a report as plain data: the one shape of every format of data."""

from __future__ import annotations

from typing import Any

from webhook.diagnostics import Diagnostic, Unread
from webhook.patch import pointer
from webhook.report.fingerprint import BaselineUse
from webhook.report.model import Located, Result, Suppression, Suppressor, TextEdit
from webhook.report.tally import Tally

HEAD = {"apiVersion": "gpushare-webhook/v1", "kind": "CheckReport"}


class Rest:
    """What follows the results of a report: the errors and the unread files, then the summary."""

    def __init__(self) -> None:
        self._errors: list[dict[str, Any]] = []
        self._unread: list[dict[str, str]] = []

    def add(self, entry: Diagnostic | Unread) -> None:
        if isinstance(entry, Unread):
            instead = {"instead": entry.instead} if entry.instead else {}
            self._unread.append({"file": entry.file, "reason": str(entry.reason), **instead})
        else:
            self._errors.append(_diagnostic(entry))

    def data(self, tally: Tally) -> dict[str, Any]:
        """The members of the report after its results."""
        suppressed = {one.value: count for one in Suppressor if (count := tally.suppressed_by(one))}
        return {
            "errors": self._errors,
            **({"unread": self._unread} if self._unread else {}),
            **({"settings": tally.settings} if tally.settings else {}),
            **({"notChecked": list(tally.selection.left_out)} if tally.selection.left_out else {}),
            **({"suppressed": suppressed} if suppressed else {}),
            **({"baseline": _baseline(tally.baseline)} if tally.baseline is not None else {}),
            **({"factsFromInputs": facts} if (facts := _facts(tally)) else {}),
            **({"assumed": _assumed(tally)} if tally.assumed else {}),
            "summary": tally.summary(),
        }


def _facts(tally: Tally) -> dict[str, Any]:
    return {} if tally.evidence is None else tally.evidence.as_data()


def _assumed(tally: Tally) -> dict[str, Any]:
    proposals = () if tally.evidence is None else tally.evidence.proposals
    profiles = {"profiles": [one.as_data() for one in proposals]} if proposals else {}
    return {"sharing": "mps", "findings": tally.assumed, **profiles}


def record(result: Result) -> dict[str, Any]:
    """Return a result as data."""
    return {
        "file": result.file,
        "document": result.document,
        "line": result.line,
        "object": result.subject.as_data(),
        "decision": result.decision,
        "findings": [_finding(located) for located in result.findings],
        "patch": list(result.patch),
        **({"omitted": dict(result.omitted)} if result.omitted else {}),
        **({"reason": result.reason} if result.reason else {}),
        **({"source": result.source} if result.source else {}),
        **({"suppressed": [_suppression(one) for one in result.suppressed]} if result.suppressed else {}),
        **({"notes": [_diagnostic(note) for note in result.notes]} if result.notes else {}),
    }


def _finding(located: Located) -> dict[str, Any]:
    finding = located.finding
    return {
        "code": finding.code,
        "severity": finding.severity.label,
        "path": located.pointer,
        "line": located.line,
        "column": located.column,
        "message": finding.message,
        "remedy": finding.remedy,
        **({"fix": [_edit(edit) for edit in located.fix]} if located.fix else {}),
    }


def _edit(edit: TextEdit) -> dict[str, Any]:
    return {"path": pointer(edit.path), "line": edit.line, "column": edit.column, "value": edit.value}


def _suppression(one: Suppression) -> dict[str, Any]:
    """A suppressed finding; without a finding, the number of those of the code that are not listed."""
    return {
        **({"code": one.code, "count": one.count} if one.located is None else _finding(one.located)),
        "by": one.by.value,
        **({"reason": one.reason} if one.reason else {}),
    }


def _diagnostic(one: Diagnostic) -> dict[str, Any]:
    return {"file": one.file, "line": one.line, "column": one.column, "message": one.message}


def _baseline(baseline: BaselineUse) -> dict[str, Any]:
    return {"file": baseline.file, "written": baseline.is_written, "stale": [one.as_data() for one in baseline.stale]}
