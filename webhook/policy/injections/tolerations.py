"""Tolerations for pods that request a GPU."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import NO_GPU, OFF, Injection
from webhook.policy.placement.selector import tolerations_of
from webhook.policy.verdict import Append, Edit


def why_not(context: PodContext) -> str | None:
    """Why no toleration is injected."""
    if not context.policy.injections.tolerations.enabled:
        return OFF
    if not context.requests.positive:
        return NO_GPU
    return None if context.placement.injected_tolerations else _NONE_CONFIGURED


_NONE_CONFIGURED = "the settings name no toleration for these resources"


def edits(context: PodContext) -> Sequence[Edit]:
    """The tolerations that the pod does not cover."""
    path = (*context.pod.spec_path, "tolerations")
    own = tolerations_of(context.pod, context.policy.nodes.taint_keys)
    missing: list[Edit] = []
    for toleration in context.placement.injected_tolerations:
        if not own.cover(toleration):
            own.add([toleration], path)
            missing.append(Append(path, toleration))
    return missing


INJECTION = Injection(
    "tolerations", why_not, edits, (OFF, NO_GPU, _NONE_CONFIGURED), "Tolerations for pods that request a GPU"
)
