"""Containers use MPS as different users.

Reads: `securityContext.runAsUser` of the pod and of containers that request a replica.
Why: an MPS daemon serves one user at a time. Clients of another user wait until all clients of the first user have
exited, and appear to hang. Without `runAsUser` the image determines the user, which is not visible here.
Remedy: set the same `runAsUser` in all of them: the configured one, if the administrator has configured one.
"""

from __future__ import annotations

from typing import TypeGuard

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import INIT, Container
from webhook.policy.pods.reading import members
from webhook.policy.verdict import Path, Severity, Violation
from webhook.policy.wording import message


def run(context: PodContext) -> Violations:
    """One violation per container whose user is not the configured one, or not that of another container."""
    wanted = context.rules.settings.users.run_as_user
    if wanted is None and len(context.first_mps_requests) < 2:
        return ()
    violations: list[Violation] = []
    other: int | None = None
    for request in context.first_mps_requests:
        container = request.container
        user, path = _user(context, container)
        if user is None:
            continue
        if wanted is not None and user != wanted:
            problem = message(
                f"{container.kind} {{}} uses MPS as user {user}; the daemon serves user {wanted}", container.name
            )
            violations.append(Violation(path, problem, f"set runAsUser: {wanted}"))
        elif other is not None and user != other:
            problem = message(
                f"{container.kind} {{}} uses MPS as user {user}, another container as user {other}", container.name
            )
            violations.append(Violation(path, problem, "set the same runAsUser in all of them"))
        if container.kind is not INIT and other is None:
            other = user
    return violations


def _user(context: PodContext, container: Container) -> tuple[int | None, Path]:
    """The user that the container is known to run as, and the path of that setting."""
    own = members(container.raw, "securityContext", container.path).get("runAsUser")
    if _is_user(own):
        return own, (*container.path, "securityContext", "runAsUser")
    shared = context.pod.members("securityContext").get("runAsUser")
    return (shared if _is_user(shared) else None), (*context.pod.spec_path, "securityContext", "runAsUser")


def _is_user(value: object) -> TypeGuard[int]:
    """Whether the API server accepts the value as a user."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


CHECK = Check("GPS008", Severity.WARN, Scope.MPS, run, __doc__)
