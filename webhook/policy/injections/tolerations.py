"""Tolerations for pods that request a GPU.

Adds: the configured tolerations, by default `nvidia.com/gpu Exists NoSchedule`, and one for the resource's own name if
it is renamed.

Why: GPU nodes are often tainted. Where the API server's ExtendedResourceToleration plugin is enabled, it tolerates only
the resource's name, which is not the usual taint once resources are renamed.

Not when: a toleration of the pod already covers every taint that the injected one would.
"""

from __future__ import annotations

from collections.abc import Sequence

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import NO_GPU, OFF, Injection
from webhook.policy.verdict import Append, Edit


def why_not(context: PodContext) -> str | None:
    """Why no toleration is injected."""
    if not context.rules.settings.injections.tolerations.enabled:
        return OFF
    if not context.requests.positive:
        return NO_GPU
    return None if context.placement.injected_tolerations else _NONE_CONFIGURED


_NONE_CONFIGURED = "the settings name no toleration for these resources"


def edits(context: PodContext) -> Sequence[Edit]:
    """The tolerations that the pod does not cover."""
    path = (*context.pod.spec_path, "tolerations")
    own = context.tolerations()
    missing: list[Edit] = []
    for toleration in context.placement.injected_tolerations:
        if not own.cover(toleration):
            own.add([toleration], path)
            missing.append(Append(path, toleration))
    return missing


INJECTION = Injection(
    "tolerations",
    why_not,
    edits,
    (OFF, NO_GPU, _NONE_CONFIGURED),
    __doc__,
    settings=(
        "injections.tolerations.enabled",
        "injections.tolerations.add",
        "injections.tolerations.resourceName",
        "injections.tolerations.fromNodes",
    ),
    sources=("kubernetes/kubernetes:plugin/pkg/admission/extendedresourcetoleration/admission.go",),
)
