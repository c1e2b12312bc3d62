"""Exempt pods: those that are neither checked nor changed."""

from __future__ import annotations

from webhook.policy.context import PodContext
from webhook.policy.rules import carries

_MIRROR = "kubernetes.io/config.mirror"
_NODES = "system:nodes"
_OS_LABEL = "kubernetes.io/os"


def is_exempt(context: PodContext) -> bool:
    """Whether the pod is left alone: exempt by the settings, a mirror pod, or a Windows pod."""
    if context.rules.exempt:
        return True
    annotation = context.rules.settings.exempt.annotation
    if annotation is not None and carries(context.pod.annotations, annotation):
        return True
    return _is_mirror(context) or _is_windows(context)


def _is_mirror(context: PodContext) -> bool:
    """Whether the pod mirrors one that a kubelet runs already.

    Any user can set the annotation, so a hook trusts it only from a node. Offline the annotation is enough.
    """
    if _MIRROR not in context.pod.annotations or not context.is_pod:
        return False
    return context.origin.groups is None or _NODES in context.origin.groups


def _is_windows(context: PodContext) -> bool:
    pod = context.pod
    if pod.spec.get("os") is not None and pod.members("os").get("name") == "windows":
        return True
    return pod.spec.get("nodeSelector") is not None and pod.members("nodeSelector").get(_OS_LABEL) == "windows"
