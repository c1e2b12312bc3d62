"""The users with which containers use MPS, within a pod and across the objects of a run.

An MPS daemon serves one user at a time, so clients of another user wait.
"""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

from webhook.policy.context import PodContext
from webhook.policy.pods.pod import Container
from webhook.policy.pods.reading import members
from webhook.policy.verdict import Path


class MpsUser(NamedTuple):
    """A container that uses MPS, the user that it is known to run as, and the path of that setting."""

    container: Container
    user: int
    path: Path


def mps_users(context: PodContext) -> list[MpsUser]:
    """The users of the containers that could use MPS, as far as the pod sets them. Raises MalformedError."""
    found = []
    for request in context.first_mps_requests:
        container = request.container
        own = members(container.raw, "securityContext", container.path).get("runAsUser")
        if _is_user(own):
            found.append(MpsUser(container, own, (*container.path, "securityContext", "runAsUser")))
            continue
        shared = context.pod.members("securityContext").get("runAsUser")
        if _is_user(shared):
            found.append(MpsUser(container, shared, (*context.pod.path_of("securityContext"), "runAsUser")))
    return found


def _is_user(value: object) -> TypeGuard[int]:
    """Whether the API server accepts the value as a user."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
