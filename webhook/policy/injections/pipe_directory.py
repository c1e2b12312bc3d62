"""The pipe directory for containers that request a replica."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import NO_SHARE, OFF, Injection
from webhook.policy.pods.pod import PIPE_DIRECTORY
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Append, Edit

ELSEWHERE = "a known node without MPS could take the pod; the device plugin sets it where it is needed"


def needing_pipe(context: PodContext) -> Sequence[ResourceRequest]:
    """The first request of each container that needs a pipe directory, whether or not it sets one itself."""
    placement = context.placement
    if not placement.cluster.index.all or context.policy.injections.pipe_directory.when == "always":
        return context.first_mps_requests
    return [request for request in context.first_mps_requests if not placement.other_candidate(request.resource)]


def why_not(context: PodContext) -> str | None:
    """Why the variable is not injected."""
    if not context.policy.injections.pipe_directory.enabled:
        return OFF
    if not context.mps_requests:
        return NO_SHARE
    return None if needing_pipe(context) else ELSEWHERE


def edits(context: PodContext) -> Iterable[Edit]:
    """The variable, for each container that does not set it."""
    return (
        Append(
            (*request.container.path, "env"),
            {"name": PIPE_DIRECTORY, "value": context.policy.pipes[request.resource.name].path},
        )
        for request in needing_pipe(context)
        if PIPE_DIRECTORY not in request.container.variables
    )


INJECTION = Injection(
    "pipeDirectory",
    why_not,
    edits,
    (OFF, NO_SHARE, ELSEWHERE),
    "The pipe directory for containers that request a replica",
)
