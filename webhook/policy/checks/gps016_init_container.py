"""An init container and a later container both take a GPU.

Reads: what init containers that end, and the containers after them, ask for.
Why: the kubelet hands the init container's device on to a later one. After a restart of the kubelet that can fail, and
running pods are ended with `UnexpectedAdmissionError` (kubernetes/kubernetes#124345).
Remedy: do the work of the init container in the container itself, or without a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import APP, INIT, Container
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message


def run(context: PodContext) -> Claims:
    """One claim an init container that asks before another container does."""
    asks = context.demand.asks
    if len(asks) < 2 or asks[0].container.kind is APP:
        return ()
    return (
        Claim(
            ask.path,
            message(
                "{} and later {} both take a GPU; a kubelet restart can fail the pod", ask.container.name, later.name
            ),
            "use the GPU in one of them",
        )
        for ask, later in _followed(asks)
        if ask.container.kind is INIT
    )


def _followed(asks: Sequence[ResourceRequest]) -> Iterator[tuple[ResourceRequest, Container]]:
    """The asks behind which another container asks, with that container; a container's asks follow one another."""
    first = 0
    for index, ask in enumerate(asks):
        if ask.container is not asks[first].container:
            for earlier in asks[first:index]:
                yield earlier, ask.container
            first = index


CHECK = Check("GPS016", Severity.WARN, Scope.ASKS, run, __doc__)
