"""An init container and a later container both take a GPU.

Reads: what init containers that end, and the containers after them, ask for.
Why: the kubelet hands the init container's device on to a later one. After a restart of the kubelet that can fail, and
running pods are ended with `UnexpectedAdmissionError` (kubernetes/kubernetes#124345).
Remedy: do the work of the init container in the container itself, or without a GPU.
"""

from __future__ import annotations

from webhook.policy.case import Case
from webhook.policy.check import Check, Claims, Scope
from webhook.policy.pod import INIT
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message


def run(case: Case) -> Claims:
    """One claim an init container that asks before another container does."""
    asks = case.demand.asks
    if len(asks) < 2:
        return ()
    return [
        Claim(
            ask.path,
            message("{} and later {} both take a GPU; a kubelet restart can fail the pod", ask.container.name, later),
            "use the GPU in one of them",
        )
        for index, ask in enumerate(asks)
        if ask.container.kind is INIT
        and (later := next((o.container.name for o in asks[index + 1 :] if o.container is not ask.container), None))
        is not None
    ]


CHECK = Check("GPS016", Severity.WARN, Scope.ASKS, run, __doc__)
