"""An init container and a later container both request a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.messages import message
from webhook.policy.pods.pod import APP, INIT, Container
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per request of an init container that a later container follows with its own."""
    requests = context.requests.positive
    if len(requests) < 2 or requests[0].container.kind is APP:
        return ()
    return (
        Violation(
            request.path,
            message(
                "{} and later {} both request a GPU; a kubelet restart can fail the pod",
                request.container.label,
                later.label,
            ),
            "request the GPU in only one of them",
        )
        for request, later in _followed(requests)
        if request.container.kind is INIT
    )


def _followed(requests: Sequence[ResourceRequest]) -> Iterator[tuple[ResourceRequest, Container]]:
    """Each request that a request of a later container follows, with that container, in their order."""
    first = 0
    for index, request in enumerate(requests):
        if request.container is not requests[first].container:
            for earlier in requests[first:index]:
                yield earlier, request.container
            first = index


CHECK = Check("GPS016", Severity.WARN, Scope.GPU, run, "An init container and a later container both request a GPU")
