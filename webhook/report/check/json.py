"""A report as one JSON object, for machines."""

from __future__ import annotations

from typing import Any

from webhook.report.data import json_text
from webhook.report.model import Located, Report, Result


def write(report: Report) -> str:
    """Return the whole report, indented."""
    plain = {
        "apiVersion": "gpushare-webhook/v1",
        "kind": "CheckReport",
        "summary": report.summary(),
        "results": [_result(result) for result in report.results],
        "errors": [
            {"file": error.file, "line": error.line, "column": error.column, "message": error.message}
            for error in report.errors
        ],
    }
    return json_text(plain)


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
