"""Limits of the MPS client, from the pod's annotations."""

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
    if not annotations or not context.mps_requests or not context.policy.injections.limits.enabled:
        return {}
    limits = {}
    for annotation in ANNOTATIONS:
        value = annotations.get(annotation.key)
        if isinstance(value, str):
            with suppress(ValueError):
                limits[annotation.variable] = AnnotatedLimit(annotation.key, annotation.write(value))
    return limits


def why_not(context: PodContext) -> str | None:
    """Why no limits are injected."""
    if not context.policy.injections.limits.enabled:
        return OFF
    if not context.mps_requests:
        return NO_SHARE
    return None if annotated_limits(context) else _NO_ANNOTATION


_NO_ANNOTATION = "the pod has no annotation for limits, or a malformed one"


def edits(context: PodContext) -> Iterable[Edit]:
    """The variables of the annotations, in each container that does not set them."""
    return (
        Append((*request.container.path, "env"), {"name": variable, "value": limit.value})
        for variable, limit in annotated_limits(context).items()
        for request in context.first_mps_requests
        if variable not in request.container.variables
    )


INJECTION = Injection(
    "limits", why_not, edits, (OFF, NO_SHARE, _NO_ANNOTATION), "Limits of the MPS client, from the pod's annotations"
)
