"""The entries of a report as plain data: the one shape of every format of data."""

from __future__ import annotations

from typing import Any

from webhook.diagnostics import Diagnostic, Unread
from webhook.report.model import Located, Result
from webhook.report.tally import Tally

HEAD = {"apiVersion": "gpushare-webhook/v1", "kind": "CheckReport"}


class Rest:
    """What follows the results of a report: the errors and the unread files, then the summary."""

    __slots__ = ("_errors", "_unread")

    def __init__(self) -> None:
        self._errors: list[dict[str, Any]] = []
        self._unread: list[dict[str, str]] = []

    def add(self, entry: Diagnostic | Unread) -> None:
        """Keep an entry for the end."""
        if isinstance(entry, Unread):
            self._unread.append({"file": entry.file, "reason": str(entry.reason)})
        else:
            place = {"file": entry.file, "line": entry.line, "column": entry.column}
            self._errors.append({**place, "message": entry.message})

    def data(self, tally: Tally) -> dict[str, Any]:
        """Return the members of the report that follow the results."""
        return {
            "errors": self._errors,
            **({"unread": self._unread} if self._unread else {}),
            **({"settings": tally.settings} if tally.settings else {}),
            **({"server": tally.server} if tally.server else {}),
            "summary": tally.summary(),
        }


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
        **({"server": result.server} if result.server else {}),
        **({"patchDiffers": True} if result.patch_differs else {}),
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
        **({} if located.difference is None else {"difference": located.difference.word}),
    }
