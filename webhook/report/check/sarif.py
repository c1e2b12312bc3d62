"""A report as SARIF 2.1.0 (OASIS), which code scanning services and editors read.

GitHub accepts 25,000 results in a run and 10 MB compressed (docs.github.com, "SARIF support for code scanning"). What
exceeds that is left out and counted."""

from __future__ import annotations

import zlib
from textwrap import indent
from typing import Any
from urllib.parse import quote

from webhook import __version__
from webhook.diagnostics import Diagnostic
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.verdict import Severity
from webhook.report.data import JsonItems, json_text
from webhook.report.explanation import portable
from webhook.report.fingerprint import Fingerprints
from webhook.report.model import Entry, LocatedFinding, Result, filled
from webhook.report.tally import Tally, assumption
from webhook.report.writer import SourceTree

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS = 25_000
"""Results of a run that GitHub accepts."""

MOST_BYTES = 9_000_000
"""Compressed bytes of results: less than GitHub's limit, since the end of the report follows."""

_MOST_NOTIFICATIONS = 1000
_BASE = "%SRCROOT%"


class SarifWriter:
    """Writes one run: the rules, a result for each finding, and a notification for each error."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._fingerprints = Fingerprints()
        self._results = JsonItems(_head(), 8)
        self._most = MOST_RESULTS
        self._most_bytes = MOST_BYTES
        self._compressor = zlib.compressobj(1)
        self._left_out = 0
        self._notifications: list[dict[str, Any]] = []
        self._unnamed = 0

    def add(self, entry: Entry) -> str:
        match entry:
            case Result():
                entry = entry.told
                found = zip(entry.findings, self._fingerprints.of(entry), strict=True)
                return "".join(self._finding(_result(entry, *one, self._tree)) for one in found)
            case Diagnostic() if len(self._notifications) < _MOST_NOTIFICATIONS:
                self._notifications.append(_notification(entry, self._tree))
            case Diagnostic():
                self._unnamed += entry.errors
        return ""

    def end(self, tally: Tally) -> str:
        notifications = [*self._notifications, *self._cuts()]
        notes = (*tally.evidence.lines(), assumption(tally))
        notifications += [{"level": "note", "message": {"text": _plain(text)}} for text in notes if text]
        invocation = {"executionSuccessful": not tally.errors, "toolExecutionNotifications": notifications}
        rest = {"invocations": [invocation], "properties": {"summary": tally.summary()}}
        members = json_text(rest).removeprefix("{\n").removesuffix("\n}\n")
        return f"{self._results.end()},\n{indent(members, ' ' * 4)}\n    }}\n  ]\n}}\n"

    def _finding(self, data: dict[str, Any]) -> str:
        if self._most == 0 or self._most_bytes <= 0:
            self._left_out += 1
            return ""
        text = self._results.add(data)
        self._most -= 1
        self._most_bytes -= len(self._compressor.compress(text.encode()))
        return text

    def _cuts(self) -> list[dict[str, Any]]:
        limit = f"a code scanning service accepts {MOST_RESULTS} results and 10 MB compressed"
        cuts = ((self._left_out, f"findings are left out: {limit}"), (self._unnamed, "more errors are left out"))
        return [{"level": "warning", "message": {"text": f"{count} {text}"}} for count, text in cuts if count]


def _head() -> str:
    rules = [_rule(check) for check in CHECKS]
    driver = {"name": "gpushare-webhook", "version": __version__, "semanticVersion": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": []}
    report = json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})
    return report[: report.rindex("[") + 1]


def _result(result: Result, finding: LocatedFinding, digest: str, tree: SourceTree) -> dict[str, Any]:
    subject = result.subject
    rule = {"ruleIndex": _INDEX[finding.code]} if finding.code in _INDEX else {}
    artifact = _artifact(finding.file or result.file, tree)
    region = {"startLine": max(finding.line, 1), "startColumn": max(finding.column, 1)}
    if finding.length:
        region["endColumn"] = finding.column + finding.length
    return {
        "ruleId": finding.code,
        **rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": _plain(f"{finding.message} ({subject}); {finding.remedy}")},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": artifact,
                    "region": region,
                },
                "logicalLocations": [
                    {
                        "name": subject.name or subject.kind,
                        "kind": "object",
                        "fullyQualifiedName": f"{'/'.join(subject)}#{finding.pointer}",
                    }
                ],
            }
        ],
        "partialFingerprints": {"gpushareWebhook/v1": digest},
        "properties": {
            "remedy": finding.remedy,
            "decision": result.decision,
            **filled(source=result.source),
        },
    }


def _plain(text: str) -> str:
    """Return text that SARIF takes for no link: `[name](address)` is one, and a name could look like it."""
    return text.replace("](", "] (")


def _artifact(file: str, tree: SourceTree) -> dict[str, str]:
    path = quote(tree.relative(file).encode("utf-8", "surrogatepass"))
    return {"uri": f"file://{path}"} if path.startswith("/") else {"uri": path, "uriBaseId": _BASE}


def _notification(error: Diagnostic, tree: SourceTree) -> dict[str, Any]:
    region = {"region": {"startLine": error.line, "startColumn": error.column}} if error.line else {}
    location = {"physicalLocation": {"artifactLocation": _artifact(error.file, tree), **region}}
    return {"level": "error", "message": {"text": _plain(error.message)}, "locations": [location]}


_LEVELS = {Severity.DENY: "error", Severity.WARN: "warning", Severity.AUDIT: "note", Severity.OFF: "none"}

_INDEX = {check.code: index for index, check in enumerate(CHECKS)}
"""The position of each rule in `rules`, by code."""


def _rule(check: Check[Any]) -> dict[str, Any]:
    title, page = f"{check.title}.", portable(check)
    return {
        "id": check.code,
        "shortDescription": {"text": title},
        "fullDescription": {"text": title},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVELS[check.severity]},
        "properties": {"tags": ["kubernetes", "gpu"]},
    }
