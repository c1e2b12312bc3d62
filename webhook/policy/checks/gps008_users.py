"""Containers use MPS as different users."""

from __future__ import annotations

from webhook.policy.checks.check import about
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import INIT, Container
from webhook.policy.pods.reading import members
from webhook.policy.verdict import Path, Violation, Violations


def mps_users(context: PodContext) -> list[tuple[Container, int, Path]]:
    """The containers that could use MPS, the user of each, as far as the pod sets it, and the path of that setting.

    Raises MalformedError.
    """
    users: list[tuple[Container, int, Path]] = []
    of_pod = context.pod.members("securityContext"), context.pod.path_of("securityContext")
    for container in (request.container for request in context.first_mps_requests):
        own = members(container.raw, "securityContext", container.path), (*container.path, "securityContext")
        for security, path in (own, of_pod):
            user = security.get("runAsUser")
            # Only what the API server accepts as a user.
            if isinstance(user, int) and not isinstance(user, bool) and 0 <= user < 2**31:
                users.append((container, user, (*path, "runAsUser")))
                break
    return users


def run(context: PodContext) -> Violations:
    """One violation per container whose user is not the configured one, or not that of another container."""
    wanted = context.policy.users.run_as_user
    if wanted is None and len(context.first_mps_requests) < 2:
        return
    other: int | None = None
    for container, user, path in mps_users(context):
        if wanted is not None and user != wanted:
            problem = about(container, f"uses MPS as user {user}; the daemon serves user {wanted}")
            yield Violation(path, problem, f"set runAsUser: {wanted}")
        elif other is not None and user != other:
            problem = about(container, f"uses MPS as user {user}, another container as user {other}")
            yield Violation(path, problem, "set the same runAsUser in all of them")
        if container.kind is not INIT and other is None:
            other = user
