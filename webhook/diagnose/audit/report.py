"""The answer of `audit`: one row for each owner, and its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from webhook.diagnose.answer import code, lines_of_unread
from webhook.diagnose.audit.census import Audited, label
from webhook.patch import pointer
from webhook.policy.messages import printable
from webhook.policy.verdict import Decision
from webhook.report.check.text import Remedies
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import counted, first, hanging, wrapped
from webhook.report.model import Subject

DECISIONS = ("allowed", "warned", "denied", "error")
"""The words for decisions in a summary, in its order."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The answer: each owner with its verdict. `mode` is that of an option, empty where the settings decide."""

    kind: ClassVar[str] = "AuditReport"

    rows: tuple[Audited, ...]
    mode: str = ""

    def exit_code(self, unread: int) -> ExitCode:
        """Return the exit code. An object that cannot be checked is one that cannot be read."""
        verdicts = [row.verdicts[0] for row in self.rows]
        is_denied = any(one.decision is Decision.DENIED for one in verdicts)
        return code(unread + any(one.is_skipped for one in verdicts), is_bad=is_denied)

    def _summary(self) -> dict[str, int]:
        counts = Counter(label(row.verdicts[0]) for row in self.rows)
        pods = sum(row.pods for row in self.rows)
        return {"objects": len(self.rows), "pods": pods, **{word: counts[word] for word in DECISIONS}}

    def as_data(self) -> dict[str, Any]:
        results = [row.as_data(row.verdicts[0]) for row in self.rows]
        return {**({"mode": self.mode} if self.mode else {}), "summary": self._summary(), "results": results}

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        remedies = Remedies()
        exempt: dict[str, list[str]] = {}
        for row in self.rows:
            verdict = row.verdicts[0]
            problem = verdict.reason if verdict.is_skipped else ""
            if verdict.reason and not problem:
                exempt.setdefault(verdict.reason, []).append(row.subject.namespace)
            if verdict.findings or problem:
                by_pod = f" (checked: pod {printable(row.by_pod)})" if row.by_pod else ""
                yield from hanging(f"{label(verdict)}:", f"{described(row.subject, row.pods)}{by_pod}", width, "  ")
            for finding in verdict.findings:
                remedies.add(finding)
                said = f"{finding.severity.label}: {finding.message} at {printable(pointer(finding.path), 1024) or '/'}"
                yield from hanging(f"  {finding.code}", said, width, "    ")
            for omitted, count in verdict.omitted().items():
                yield f"  and {counted(count, 'more finding')} of {omitted}"
            if problem:
                yield from hanging("  cannot be checked:", printable(problem, 1024), width, "    ")
        if listed := list(remedies.listed()):
            yield ""
            yield from wrapped("Remedies (gpushare-webhook explain CODE tells more):", width)
            for each, remedy in listed:
                yield from hanging(f"  {each}", printable(remedy, 1024), width, "    ")
            yield ""
        for reason, namespaces in sorted(exempt.items()):
            where = first(list(dict.fromkeys(namespaces)))
            yield from hanging(counted(len(namespaces), "object"), f"{printable(reason)} ({where})", width, "  ")
        yield from lines_of_unread(unread, width)
        summary = self._summary()
        owners, pods = counted(summary["objects"], "object"), counted(summary["pods"], "pod")
        said = ", ".join(f"{summary[word]} {word}" for word in DECISIONS if summary[word])
        yield f"{owners} with {pods}: {said or 'nothing to check'}" + (f" (mode: {self.mode})" if self.mode else "")


def described(subject: Subject, pods: int) -> str:
    """An object and how many pods it has."""
    return f"{subject}, {counted(pods, 'pod')}" if pods and subject.kind != "Pod" else str(subject)
