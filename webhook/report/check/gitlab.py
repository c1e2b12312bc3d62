"""A report as GitLab's code quality JSON, which merge requests show beside the changed lines.

GitLab reads a subset of Code Climate's format: description, check_name, fingerprint, severity and location
(https://docs.gitlab.com/ci/testing/code_quality/).
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from textwrap import indent

from webhook.diagnostics import Diagnostic
from webhook.policy.verdict import Severity
from webhook.report.data import json_text
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
        self._before = "[\n"
        self._errors: Counter[tuple[str, str]] = Counter()

    def add(self, entry: Entry) -> str:
        """Return the entries for the findings of a result, or for an error."""
        match entry:
            case Result():
                found = zip(entry.findings, self._fingerprints.of(entry), strict=True)
                return "".join(self._finding(entry, located, digest) for located, digest in found)
            case Diagnostic():
                return self._entry(
                    "unreadable", entry.message, "blocker", entry.file, entry.line, self._fingerprint(entry)
                )
            case _:
                return ""

    def end(self, tally: Tally) -> str:  # noqa: ARG002 - the signature of a Writer
        return "[]\n" if self._before == "[\n" else "\n]\n"

    def _finding(self, result: Result, located: Located, digest: str) -> str:
        finding = located.finding
        return self._entry(
            finding.code,
            f"{finding.message} ({result.subject}); {finding.remedy}",
            _SEVERITIES[finding.severity],
            result.file,
            located.line,
            digest,
        )

    def _fingerprint(self, error: Diagnostic) -> str:
        """Return a digest of the file, the message and the number of equal errors before."""
        key = error.file, error.message
        before = self._errors[key]
        self._errors[key] += 1
        text = "\0".join(key) + (f"\0{before}" if before else "")
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _entry(self, check: str, description: str, severity: str, file: str, line: int, digest: str) -> str:
        data = {
            "description": description,
            "check_name": check,
            "fingerprint": digest,
            "severity": severity,
            "location": {"path": self._tree.relative(file), "lines": {"begin": max(line, 1)}},
        }
        text = self._before + indent(json_text(data).rstrip("\n"), "  ")
        self._before = ",\n"
        return text
