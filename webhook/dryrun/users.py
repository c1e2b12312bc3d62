"""GPS008 across the objects of one run: an MPS daemon serves one user at a time."""

from __future__ import annotations

from webhook.dryrun.evaluation import USERS
from webhook.policy.messages import message
from webhook.report.model import Result, decision_with

_REMEDY = "set the same runAsUser in all of them"


class UsersOfRun:
    """Compares the users with which objects use MPS with that of the first such object."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: tuple[int, str] | None = None

    def compare(self, result: Result) -> Result:
        """The result for an object with users, with a finding if one differs from that of an earlier object."""
        if not result.users:
            return result
        if self._first is None:
            self._first = result.users[0].user, str(result.subject)
            return result
        user, earlier = self._first
        other = next((one for one in result.users if one.user != user), None)
        if other is None:
            return result
        if any(located.finding.code == USERS for located in result.findings):
            return result
        problem = message(
            f"uses MPS as user {other.user}, {{}} as user {user}; on one node they wait for each other", earlier
        )
        found = other.located(USERS, str(problem), _REMEDY)
        findings = tuple(sorted((*result.findings, found), key=lambda one: one.finding.code))
        return result._replace(findings=findings, decision=decision_with(result.decision, other.severity))
