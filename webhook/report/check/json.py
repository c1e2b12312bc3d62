"""A report as one JSON object, for machines. The summary follows the results, so that no results are kept."""

from __future__ import annotations

from textwrap import indent
from typing import Any, assert_never

from webhook.diagnostics import Diagnostic, Unread
from webhook.report.baseline import BaselineUse
from webhook.report.data import json_text
from webhook.report.model import Entry, Located, Result, Suppression, Suppressor
from webhook.report.tally import Tally

_HEAD = '{\n  "apiVersion": "gpushare-webhook/v1",\n  "kind": "CheckReport",\n  "results": ['


class JsonWriter:
    """Writes the report, indented."""

    def __init__(self) -> None:
        self._before = f"{_HEAD}\n"
        self._errors: list[dict[str, Any]] = []
        self._unread: list[dict[str, str]] = []

    def add(self, entry: Entry) -> str:
        """Return the text for a result. Errors and unread files follow at the end."""
        match entry:
            case Result():
                text = self._before + indent(json_text(_result(entry)).rstrip("\n"), "    ")
                self._before = ",\n"
                return text
            case Diagnostic():
                self._errors.append(_diagnostic(entry))
            case Unread(file, reason):
                self._unread.append({"file": file, "reason": reason})
            case _:
                assert_never(entry)
        return ""

    def end(self, tally: Tally) -> str:
        """Return the errors, the unread files and the summary."""
        head = f"{_HEAD}]" if self._before != ",\n" else "\n  ]"
        rest: dict[str, Any] = {
            "errors": self._errors,
            **({"unread": self._unread} if self._unread else {}),
            **({"settings": tally.settings} if tally.settings else {}),
            **({"notChecked": tally.selection.left_out} if tally.selection.left_out else {}),
            **({"suppressed": suppressed} if (suppressed := _by_suppressor(tally)) else {}),
            **({"baseline": _baseline(tally.baseline)} if tally.baseline is not None else {}),
            "summary": tally.summary(),
        }
        return f"{head},\n{json_text(rest).removeprefix('{' + chr(10))}"


def _result(result: Result) -> dict[str, Any]:
    return {
        "file": result.file,
        "document": result.document,
        "line": result.line,
        "object": result.subject.as_data(),
        "decision": result.decision,
        "findings": [_finding(located) for located in result.findings],
        "patch": result.patch,
        **({"omitted": result.omitted} if result.omitted else {}),
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
    }


def _suppression(one: Suppression) -> dict[str, Any]:
    """A suppressed finding; without a finding, the number of those of the code that are not listed."""
    return {
        **({"code": one.code, "count": one.count} if one.located is None else _finding(one.located)),
        "by": one.by.value,
        **({"reason": one.reason} if one.reason else {}),
    }


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    file, line, column, message = diagnostic.file, diagnostic.line, diagnostic.column, diagnostic.message
    return {"file": file, "line": line, "column": column, "message": message}


def _baseline(baseline: BaselineUse) -> dict[str, Any]:
    """The baseline, with the entries that no longer occur."""
    return {"file": baseline.file, "written": baseline.is_written, "stale": [one.as_data() for one in baseline.stale]}


def _by_suppressor(tally: Tally) -> dict[str, int]:
    return {one.value: count for one in Suppressor if (count := tally.suppressed_by(one))}
