"""A report as one JSON object, for machines. The summary follows the results, so that no results are kept."""

from __future__ import annotations

from typing import Any

from webhook.diagnostics import Diagnostic, Unread
from webhook.report.data import JsonItems, json_text
from webhook.report.model import Entry, LocatedFinding, Result, Suppression, Suppressor, filled
from webhook.report.tally import Tally

_HEAD = {"apiVersion": "gpushare-webhook/v1", "kind": "CheckReport"}


class JsonWriter:
    """Writes the results, indented, then the errors, the unread files and the summary."""

    def __init__(self) -> None:
        self._results = JsonItems(json_text({**_HEAD, "results": []}).rstrip("]}\n"), 4)
        self._errors: list[dict[str, Any]] = []
        self._unread: list[dict[str, str]] = []

    def add(self, entry: Entry) -> str:
        if isinstance(entry, Result):
            return self._results.add(_record(entry))
        if isinstance(entry, Unread):
            said = filled(instead=entry.instead, why=entry.why)
            self._unread.append({"file": entry.file, "reason": str(entry.reason), **said})
        else:
            self._errors.append(_diagnostic(entry))
        return ""

    def end(self, tally: Tally) -> str:
        profiles = [proposal.as_data() for proposal in tally.evidence.proposals]
        rest = {
            "errors": self._errors,
            **filled(
                unread=self._unread,
                settings=tally.settings,
                notChecked=list(tally.selection.left_out),
                suppressed=filled(**{by.value: tally.suppressed[by] for by in Suppressor}),
                factsFromInputs=tally.evidence.as_data(),
                assumed=(tally.assumed or tally.left_out)
                and {
                    "sharing": "mps",
                    "findings": tally.assumed,
                    **filled(leftOut=dict(sorted(tally.left_out.items())), profiles=profiles),
                },
            ),
            "summary": tally.summary(),
        }
        return f"{self._results.end()},\n{json_text(rest).removeprefix('{' + chr(10))}"


def _record(result: Result) -> dict[str, Any]:
    """Return a result as data."""
    return {
        "file": result.file,
        "document": result.document,
        "line": result.line,
        "object": result.subject.as_data(),
        "decision": result.decision,
        "findings": [_finding(located) for located in result.findings],
        "patch": list(result.patch),
        **filled(
            omitted=dict(result.omitted),
            reason=result.reason,
            source=result.source,
            suppressed=[_suppression(suppression) for suppression in result.suppressed],
            notes=[_diagnostic(note) for note in result.notes],
        ),
    }


def _finding(finding: LocatedFinding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.label,
        "path": finding.pointer,
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
        "remedy": finding.remedy,
        **filled(file=finding.file),
    }


def _suppression(one: Suppression) -> dict[str, Any]:
    """A suppressed finding; without a finding, the number of those of the code that are not listed."""
    return {
        **({"code": one.code, "count": one.count} if one.finding is None else _finding(one.finding)),
        "by": one.by.value,
        **filled(reason=one.reason),
    }


def _diagnostic(one: Diagnostic) -> dict[str, Any]:
    return {"file": one.file, "line": one.line, "column": one.column, "message": one.message}
