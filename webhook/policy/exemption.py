"""Exempt pods: those that are neither checked nor changed, and why."""

from __future__ import annotations

from webhook.policy.context import PodContext
from webhook.policy.rules import carries

_MIRROR = "kubernetes.io/config.mirror"
_NODES = "system:nodes"
_OS_LABEL = "kubernetes.io/os"


def exemption(context: PodContext) -> str | None:
    """Why the pod is left alone; None for one that is checked."""
    if context.rules.exemption is not None:
        return context.rules.exemption
    annotation = context.rules.settings.exempt.annotation
    if annotation is not None and carries(context.pod.annotations, annotation):
        return "exempt: the pod has the annotation of exempt.annotation"
    if _is_mirror(context):
        return "exempt: the pod mirrors a static pod, which a kubelet runs already"
    return "exempt: the pod runs on Windows" if _is_windows(context) else None


def _is_mirror(context: PodContext) -> bool:
    """Whether the pod mirrors one that a kubelet runs already.

    Any user can set the annotation, so a hook trusts it only from a node. Offline the annotation is enough.
    """
    if _MIRROR not in context.pod.annotations or not context.is_pod:
        return False
    return context.origin.is_offline or _NODES in (context.origin.groups or ())


def _is_windows(context: PodContext) -> bool:
    pod = context.pod
    if pod.spec.get("os") is not None and pod.members("os").get("name") == "windows":
        return True
    return pod.spec.get("nodeSelector") is not None and pod.members("nodeSelector").get(_OS_LABEL) == "windows"
