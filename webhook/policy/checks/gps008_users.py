"""Containers use MPS as different users.

Reads: `securityContext.runAsUser` of the pod and of containers that ask for a replica.
Why: an MPS daemon serves one user at a time. Clients of another user wait until the first ones are gone, and look hung.
Without `runAsUser` the image decides, which cannot be seen here.
Remedy: give all of them the same `runAsUser`, the configured one where the administrator names one.
"""

from __future__ import annotations

from typing import TypeGuard

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import INIT, Container
from webhook.policy.pods.reading import members
from webhook.policy.verdict import Claim, Path, Severity
from webhook.policy.wording import message


def run(context: PodContext) -> Claims:
    """One claim a container whose user is not the configured one, or not that of one beside it."""
    wanted = context.rules.settings.users.run_as_user
    if wanted is None and len(context.first_asks) < 2:
        return ()
    claims: list[Claim] = []
    beside: int | None = None
    for ask in context.first_asks:
        container = ask.container
        user, path = _user(context, container)
        if user is None:
            continue
        if wanted is not None and user != wanted:
            said = message(f"{container.kind} {{}} uses MPS as user {user}; the daemon serves {wanted}", container.name)
            claims.append(Claim(path, said, f"set runAsUser: {wanted}"))
        elif beside is not None and user != beside:
            said = message(
                f"{container.kind} {{}} uses MPS as user {user}, another one beside it as {beside}", container.name
            )
            claims.append(Claim(path, said, "give all of them the same runAsUser"))
        if container.kind is not INIT and beside is None:
            beside = user
    return claims


def _user(context: PodContext, container: Container) -> tuple[int | None, Path]:
    """The user that the container is known to run as, and where that is said."""
    own = members(container.raw, "securityContext", container.path).get("runAsUser")
    if _is_user(own):
        return own, (*container.path, "securityContext", "runAsUser")
    shared = context.pod.members("securityContext").get("runAsUser")
    return (shared if _is_user(shared) else None), (*context.pod.spec_path, "securityContext", "runAsUser")


def _is_user(value: object) -> TypeGuard[int]:
    """Whether the API server takes the value for a user."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


CHECK = Check("GPS008", Severity.WARN, Scope.MPS, run, __doc__)
