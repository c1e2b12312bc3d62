"""GPS008 across the objects of one run: an MPS daemon serves one user at a time."""

from __future__ import annotations

from dataclasses import replace

from webhook.policy.verdict import DECISIONS, Finding, Severity, Verdict
from webhook.policy.wording import message

CODE = "GPS008"
"""The check that compares users."""


class UsersOfRun:
    """Compares the users with which objects use MPS with that of the first such object."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: tuple[int, str] | None = None

    def compare(self, verdict: Verdict, name: str, severity: Severity) -> Verdict:
        """The verdict for an object with users, with a finding if one differs from that of an earlier object."""
        if self._first is None:
            self._first = verdict.users[0][0], name
            return verdict
        user, earlier = self._first
        other = next(((found, path) for found, path in verdict.users if found != user), None)
        if other is None or severity is Severity.OFF or any(finding.code == CODE for finding in verdict.findings):
            return verdict
        found, path = other
        problem = message(
            f"uses MPS as user {found}, {{}} as user {user}; on one node they wait for each other", earlier
        )
        finding = Finding(CODE, severity, path, str(problem), "set the same runAsUser in all of them")
        return replace(
            verdict,
            decision=max(verdict.decision, DECISIONS[severity]),
            findings=tuple(sorted((*verdict.findings, finding), key=lambda one: one.code)),
            counts={**verdict.counts, (CODE, severity): 1},
        )
