"""Containers use MPS as different users."""

from __future__ import annotations

from typing import TypeGuard

from webhook.policy.checks.check import Check, Scope, Violations, about
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import INIT, Container
from webhook.policy.pods.reading import members
from webhook.policy.verdict import Path, Replacement, Severity, Violation


def mps_users(context: PodContext) -> list[tuple[Container, int, Path]]:
    """The containers that could use MPS, the user of each, as far as the pod sets it, and the path of that setting.

    Raises MalformedError.
    """
    found: list[tuple[Container, int, Path]] = []
    for request in context.first_mps_requests:
        container = request.container
        own = members(container.raw, "securityContext", container.path).get("runAsUser")
        if _is_user(own):
            found.append((container, own, (*container.path, "securityContext", "runAsUser")))
            continue
        shared = context.pod.members("securityContext").get("runAsUser")
        if _is_user(shared):
            found.append((container, shared, (*context.pod.path_of("securityContext"), "runAsUser")))
    return found


def _is_user(value: object) -> TypeGuard[int]:
    """Whether the API server accepts the value as a user."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def run(context: PodContext) -> Violations:
    """One violation per container whose user is not the configured one, or not that of another container."""
    wanted = context.rules.settings.users.run_as_user
    if wanted is None and len(context.first_mps_requests) < 2:
        return ()
    violations: list[Violation] = []
    other: int | None = None
    for container, user, path in mps_users(context):
        if wanted is not None and user != wanted:
            problem = about(container, f"uses MPS as user {user}; the daemon serves user {wanted}")
            # The pod's own setting is that of other containers too, and root is a choice for people.
            fix = (Replacement(path, wanted),) if wanted and path[: len(container.path)] == container.path else ()
            violations.append(Violation(path, problem, f"set runAsUser: {wanted}", fix=fix))
        elif other is not None and user != other:
            problem = about(container, f"uses MPS as user {user}, another container as user {other}")
            violations.append(Violation(path, problem, "set the same runAsUser in all of them"))
        if container.kind is not INIT and other is None:
            other = user
    return violations


CHECK = Check("GPS008", Severity.WARN, Scope.MPS, run, "Containers use MPS as different users")
