"""An audit as Report objects of openreports.io, one for each namespace (openreports/reports-api v1alpha1).

Objects without a namespace are in a ClusterReport. A Report has at most 200 results: `kubectl apply` keeps the whole
object in an annotation, and the API server accepts 256 KiB of annotations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from webhook.live.audit.census import Audited
from webhook.live.audit.report import Audit
from webhook.patch import pointer
from webhook.policy.messages import printable
from webhook.policy.verdict import Decision, Finding, Severity

SOURCE: Final = "gpushare-webhook"
MOST_RESULTS: Final = 200
_MOST_TEXT: Final = 400
"""Characters of a text: with the names of its object, a result has about 1 KiB."""

_RESULTS: Final = {
    Severity.DENY: ("fail", "high"),
    Severity.WARN: ("warn", "medium"),
    Severity.AUDIT: ("warn", "low"),
    Severity.OFF: ("skip", "info"),
}
"""The result and the severity of a finding in the words of the API."""


def reports(audit: Audit) -> Iterator[dict[str, Any]]:
    """Yield the objects in the order of namespaces. A namespace without findings gets an empty one."""
    for namespace, rows in groupby(audit.rows, key=lambda row: row.subject.namespace):
        yield from _of_namespace(namespace, list(rows))


def _of_namespace(namespace: str, rows: Sequence[Audited]) -> Iterator[dict[str, Any]]:
    results = [one for row in rows for one in _results(row)]
    untouched = Counter(_untouched(row) for row in rows)
    for number, start in enumerate(range(0, max(len(results), 1), MOST_RESULTS), 1):
        held = results[start : start + MOST_RESULTS]
        counts = Counter(one["result"] for one in held)
        if number == 1:  # an object without a result is counted once
            counts += Counter({word: untouched[word] for word in ("pass", "skip")})
        yield {
            "apiVersion": "openreports.io/v1alpha1",
            "kind": "Report" if namespace else "ClusterReport",
            "metadata": {
                "name": SOURCE if number == 1 else f"{SOURCE}-{number}",
                **({"namespace": namespace} if namespace else {}),
                "labels": {"app.kubernetes.io/managed-by": SOURCE},
            },
            "source": SOURCE,
            "summary": {word: counts[word] for word in ("pass", "fail", "warn", "error", "skip")},
            "results": held,
        }


def _untouched(row: Audited) -> str:
    """How an object without a result counts; empty for one with a result."""
    outcome = row.outcomes[0]
    if outcome.findings or outcome.problem:
        return ""
    return "skip" if outcome.reason and outcome.decision is Decision.ALLOWED else "pass"


def _results(row: Audited) -> Iterator[dict[str, Any]]:
    """The results of an object: its findings, or why it cannot be checked."""
    outcome = row.outcomes[0]
    if outcome.problem:
        yield _result(row, "unreadable", "error", "info", outcome.problem, {})
    for finding in outcome.findings:
        result, severity = _RESULTS[finding.severity]
        yield _result(row, finding.code, result, severity, finding.message, _properties(row, finding))


def _properties(row: Audited, finding: Finding) -> dict[str, str]:
    return {
        "path": printable(pointer(finding.path) or "/", _MOST_TEXT),
        "remedy": printable(finding.remedy, _MOST_TEXT),
        "pods": str(row.pods),
    }


def _result(
    row: Audited, policy: str, result: str, severity: str, text: str, properties: dict[str, str]
) -> dict[str, Any]:
    subject = row.subject
    return {
        "source": SOURCE,
        "policy": policy,
        "category": "GPU sharing",
        "severity": severity,
        "result": result,
        "scored": result == "fail",
        "resources": [
            {
                "apiVersion": subject.api_version,
                "kind": subject.kind,
                **({"namespace": subject.namespace} if subject.namespace else {}),
                "name": subject.name,
            }
        ],
        "message": printable(text, _MOST_TEXT),
        **({"properties": properties} if properties else {}),
    }
