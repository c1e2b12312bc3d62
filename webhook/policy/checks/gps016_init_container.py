"""An init container and a later container both request a GPU.

Reads: the requests of init containers that are not sidecars, and of the containers after them.

Why: the kubelet reuses the init container's device for a later container. After a restart of the kubelet this can fail,
and running pods end with `UnexpectedAdmissionError`.

Remedy: do the init container's work in the container itself, or without a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import APP, INIT, Container
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Severity, Violation
from webhook.policy.wording import message


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
    """Each request that one of a later container follows, with that container. Those of a container are adjacent."""
    first = 0
    for index, request in enumerate(requests):
        if request.container is not requests[first].container:
            for earlier in requests[first:index]:
                yield earlier, request.container
            first = index


CHECK = Check(
    "GPS016",
    Severity.WARN,
    Scope.GPU,
    run,
    __doc__,
    sources=("kubernetes/kubernetes#124345", "kubernetes/kubernetes#138446"),
)
