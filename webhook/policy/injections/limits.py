"""Limits of an MPS client, from the pod's annotations.

Adds: `CUDA_MPS_ACTIVE_THREAD_PERCENTAGE`, `CUDA_MPS_PINNED_DEVICE_MEM_LIMIT` and `CUDA_MPS_CLIENT_PRIORITY` in the
containers that ask for a replica, from the annotations `gpushare-webhook/active-thread-percentage`,
`gpushare-webhook/pinned-device-memory-limit` and `gpushare-webhook/client-priority`.
Why: a client may lower its own share, and a pod is the place to say so once for all its containers.
Not when: the container sets the variable; the annotation is malformed (GPS018).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import Injection
from webhook.policy.pods.client_limits import ANNOTATIONS
from webhook.policy.verdict import Append, Edit


@dataclass(frozen=True, slots=True)
class Written:
    """What an annotation makes of its variable."""

    key: str
    value: str


def written(context: PodContext) -> dict[str, Written]:
    """The variables that well-formed annotations set, with their values."""
    annotations = context.pod.annotations
    if not annotations or not context.mps or not context.rules.settings.injections.limits.enabled:
        return {}
    found = {}
    for annotation in ANNOTATIONS:
        value = annotations.get(annotation.key)
        if isinstance(value, str):
            with suppress(ValueError):
                found[annotation.variable] = Written(annotation.key, annotation.write(value))
    return found


def run(context: PodContext) -> Iterable[Edit]:
    """The variables that the annotations ask for, in each container that does not set them."""
    return (
        Append((*ask.container.path, "env"), {"name": variable, "value": ours.value})
        for variable, ours in written(context).items()
        for ask in context.first_asks
        if variable not in ask.container.variables
    )


INJECTION = Injection("limits", run, __doc__)
