"""The answer of `audit`: one line for each owner, and its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, ClassVar

from webhook.diagnose.answer import code, lines_of_unread
from webhook.diagnose.audit.census import Audited
from webhook.diagnose.audit.outcome import Outcome
from webhook.patch import pointer
from webhook.policy.messages import printable
from webhook.policy.verdict import Decision
from webhook.report.check.text import Remedies
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import counted, hanging, wrapped

DECISIONS = ("allowed", "warned", "denied", "error")
"""The words for decisions in a summary, in its order."""

_MOST_NAMESPACES = 10
"""Exempt namespaces that the text names."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The answer: each owner with its outcome. `mode` is that of an option, empty where the settings decide."""

    kind: ClassVar[str] = "AuditReport"

    rows: tuple[Audited, ...]
    mode: str = ""

    def exit_code(self, unread: int) -> ExitCode:
        """Return the exit code. An object that cannot be checked is one that cannot be read."""
        is_denied = any(row.outcomes[0].decision is Decision.DENIED for row in self.rows)
        return code(unread + any(row.outcomes[0].problem for row in self.rows), is_bad=is_denied)

    def as_data(self) -> dict[str, Any]:
        counts = Counter(row.outcomes[0].label for row in self.rows)
        pods = sum(row.pods for row in self.rows)
        return {
            **({"mode": self.mode} if self.mode else {}),
            "summary": {"objects": len(self.rows), "pods": pods, **{word: counts[word] for word in DECISIONS}},
            "results": [row_data(row, row.outcomes[0]) for row in self.rows],
        }

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        remedies = Remedies()
        shown = [row for row in self.rows if row.outcomes[0].findings or row.outcomes[0].problem]
        for namespace, rows in groupby(shown, key=lambda row: row.subject.namespace):
            yield printable(namespace) if namespace else "(no namespace)"
            for row in rows:
                yield from lines_of(row, row.outcomes[0], width, remedies)
            yield ""
        if listed := list(remedies.listed()):
            yield from wrapped("Remedies (gpushare-webhook explain CODE tells more):", width)
            for code, remedy in listed:
                yield from hanging(f"  {code}", printable(remedy, 1024), width, "    ")
            yield ""
        yield from _exempt(self.rows, width)
        yield from lines_of_unread(unread, width)
        counts = Counter(row.outcomes[0].label for row in self.rows)
        said = ", ".join(f"{counts[word]} {word}" for word in DECISIONS if counts[word])
        owners, pods = counted(len(self.rows), "object"), counted(sum(row.pods for row in self.rows), "pod")
        mode = f" (mode: {self.mode})" if self.mode else ""
        yield f"{owners} with {pods}: {said or 'nothing to check'}{mode}"


def row_data(row: Audited, outcome: Outcome) -> dict[str, Any]:
    """A line with one outcome as data."""
    return {
        "object": row.subject.as_data(),
        "pods": row.pods,
        **({"checkedPod": row.by_pod} if row.by_pod else {}),
        **outcome_data(outcome),
    }


def outcome_data(outcome: Outcome) -> dict[str, Any]:
    """An outcome as data, in the words of the report of `check`."""
    return {
        "decision": outcome.label,
        "findings": [
            {
                "code": one.code,
                "severity": one.severity.label,
                "path": pointer(one.path),
                "message": one.message,
                "remedy": one.remedy,
            }
            for one in outcome.findings
        ],
        **({"omitted": dict(outcome.omitted)} if outcome.omitted else {}),
        **({"reason": outcome.reason} if outcome.reason else {}),
        **({"problem": outcome.problem} if outcome.problem else {}),
    }


def lines_of(row: Audited, outcome: Outcome, width: int | None, remedies: Remedies) -> Iterator[str]:
    """The lines of an object: its decision, then its findings."""
    pods = f", {counted(row.pods, 'pod')}" if row.pods and row.subject.kind != "Pod" else ""
    by_pod = f" (checked: pod {printable(row.by_pod)})" if row.by_pod else ""
    name = f"{printable(row.subject.kind)}/{printable(row.subject.name)}"
    yield from hanging(f"  {outcome.label}", f"{name}{pods}{by_pod}", width, "    ")
    for finding in outcome.findings:
        remedies.add(finding)
        said = f"{finding.severity.label}: {finding.message} at {printable(pointer(finding.path), 1024) or '/'}"
        yield from hanging(f"    {finding.code}", said, width, "      ")
    for omitted, count in outcome.omitted:
        yield f"    and {counted(count, 'more finding')} of {omitted}"
    if outcome.problem:
        yield from hanging("    cannot be checked:", printable(outcome.problem, 1024), width, "      ")


def _exempt(rows: Sequence[Audited], width: int | None) -> Iterator[str]:
    """The lines about objects that are left alone or only partly checked, by reason."""
    reasons: dict[str, list[Audited]] = {}
    for row in rows:
        if row.outcomes[0].reason:
            reasons.setdefault(row.outcomes[0].reason, []).append(row)
    for reason, those in sorted(reasons.items()):
        names = sorted({row.subject.namespace for row in those})
        shown = ", ".join(printable(name) for name in islice(names, _MOST_NAMESPACES))
        more = f" and {len(names) - _MOST_NAMESPACES} more" if len(names) > _MOST_NAMESPACES else ""
        yield from hanging(counted(len(those), "object"), f"{printable(reason)} ({shown}{more})", width, "  ")
