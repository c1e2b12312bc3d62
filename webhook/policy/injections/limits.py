"""Limits of the MPS client, from the pod's annotations.

Adds: `CUDA_MPS_ACTIVE_THREAD_PERCENTAGE`, `CUDA_MPS_PINNED_DEVICE_MEM_LIMIT` and `CUDA_MPS_CLIENT_PRIORITY` in the
containers that request a replica, from the annotations `gpushare-webhook/active-thread-percentage`,
`gpushare-webhook/pinned-device-memory-limit` and `gpushare-webhook/client-priority`.

Why: a client may lower its own share, and an annotation sets that once for all containers of the pod.

Not when: the container sets the variable; the annotation is malformed (GPS018).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import NO_SHARE, OFF, Injection
from webhook.policy.pods.client_limits import ANNOTATIONS
from webhook.policy.verdict import Append, Edit


class AnnotatedLimit(NamedTuple):
    """The value that an annotation gives its variable, and the annotation's key."""

    key: str
    value: str


def annotated_limits(context: PodContext) -> dict[str, AnnotatedLimit]:
    """By variable, the values that well-formed annotations set."""
    annotations = context.pod.annotations
    if not annotations or not context.mps_requests or not context.rules.settings.injections.limits.enabled:
        return {}
    found = {}
    for annotation in ANNOTATIONS:
        value = annotations.get(annotation.key)
        if isinstance(value, str):
            with suppress(ValueError):
                found[annotation.variable] = AnnotatedLimit(annotation.key, annotation.write(value))
    return found


def why_not(context: PodContext) -> str | None:
    """Why no limits are injected."""
    if not context.rules.settings.injections.limits.enabled:
        return OFF
    if not context.mps_requests:
        return NO_SHARE
    return None if annotated_limits(context) else _NO_ANNOTATION


_NO_ANNOTATION = "the pod has no well-formed annotation for limits"


def edits(context: PodContext) -> Iterable[Edit]:
    """The variables of the annotations, in each container that does not set them."""
    return (
        Append((*request.container.path, "env"), {"name": variable, "value": limit.value})
        for variable, limit in annotated_limits(context).items()
        for request in context.first_mps_requests
        if variable not in request.container.variables
    )


INJECTION = Injection(
    "limits",
    why_not,
    edits,
    (OFF, NO_SHARE, _NO_ANNOTATION),
    __doc__,
    settings=("injections.limits.enabled",),
    sources=("https://docs.nvidia.com/deploy/mps/latest/appendix-environment-variables.html",),
)
