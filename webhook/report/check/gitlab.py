"""A report as GitLab's code quality JSON, which merge requests show beside the changed lines.

GitLab reads a subset of Code Climate's format: description, check_name, fingerprint, severity and location
(https://docs.gitlab.com/ci/testing/code_quality/).
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

from webhook.diagnostics import Diagnostic
from webhook.policy.verdict import Severity
from webhook.report.data import JsonItems
from webhook.report.fingerprint import Fingerprints
from webhook.report.model import Entry, Located, Result
from webhook.report.tally import Tally
from webhook.report.writer import ANYWHERE, SourceTree

_SEVERITIES = {Severity.DENY: "critical", Severity.WARN: "minor", Severity.AUDIT: "info"}


class GitlabWriter:
    """Writes an entry of the list for each finding and each error."""

    def __init__(self, tree: SourceTree = ANYWHERE) -> None:
        self._tree = tree
        self._fingerprints = Fingerprints()
        self._items = JsonItems("[", 2)
        self._errors: Counter[tuple[str, str]] = Counter()

    def add(self, entry: Entry) -> str:
        match entry:
            case Result():
                found = zip(entry.findings, self._fingerprints.of(entry), strict=True)
                return "".join(self._finding(entry, located, digest) for located, digest in found)
            case Diagnostic():
                digest = self._fingerprint(entry)
                return self._entry("unreadable", entry.message, "blocker", entry.file, entry.line, digest)
            case _:
                return ""

    def end(self, tally: Tally) -> str:  # noqa: ARG002 - the signature of a Writer
        return f"{self._items.end()}\n"

    def _finding(self, result: Result, located: Located, digest: str) -> str:
        finding = located.finding
        description = f"{finding.message} ({result.subject}); {finding.remedy}"
        return self._entry(finding.code, description, _SEVERITIES[finding.severity], result.file, located.line, digest)

    def _fingerprint(self, error: Diagnostic) -> str:
        """Return a digest of the file, the message and the number of equal errors before."""
        key = error.file, error.message
        before = self._errors[key]
        self._errors[key] += 1
        text = "\0".join(key) + (f"\0{before}" if before else "")
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _entry(self, check: str, description: str, severity: str, file: str, line: int, digest: str) -> str:
        return self._items.add(
            {
                "description": description,
                "check_name": check,
                "fingerprint": digest,
                "severity": severity,
                "location": {"path": self._tree.relative(file), "lines": {"begin": max(line, 1)}},
            }
        )
