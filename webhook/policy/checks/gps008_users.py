"""Containers use MPS as different users."""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.messages import message
from webhook.policy.mps_users import mps_users
from webhook.policy.pods.pod import INIT
from webhook.policy.verdict import Replacement, Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per container whose user is not the configured one, or not that of another container."""
    wanted = context.rules.settings.users.run_as_user
    if wanted is None and len(context.first_mps_requests) < 2:
        return ()
    violations: list[Violation] = []
    other: int | None = None
    for container, user, path in mps_users(context):
        if wanted is not None and user != wanted:
            problem = message(
                f"{container.kind} {{}} uses MPS as user {user}; the daemon serves user {wanted}", container.label
            )
            # The pod's own setting is that of other containers too, and root is a choice for people.
            fix = (Replacement(path, wanted),) if wanted and path[: len(container.path)] == container.path else ()
            violations.append(Violation(path, problem, f"set runAsUser: {wanted}", fix=fix))
        elif other is not None and user != other:
            problem = message(
                f"{container.kind} {{}} uses MPS as user {user}, another container as user {other}", container.label
            )
            violations.append(Violation(path, problem, "set the same runAsUser in all of them"))
        if container.kind is not INIT and other is None:
            other = user
    return violations


CHECK = Check("GPS008", Severity.WARN, Scope.MPS, run, "Containers use MPS as different users")
