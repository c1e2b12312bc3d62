"""The runtime class for pods that request a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import NO_GPU, OFF, Injection
from webhook.policy.verdict import Assign, Edit

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import RuntimeClass


class ClassObstacle(Enum):
    """Why the class cannot be injected. The value is the reason for users."""

    MISSING = "the class does not exist in the cluster"
    CONTRADICTS = "the node selector of the class contradicts the pod's"
    SANDBOX = "the class is a sandbox, in which MPS does not work"
    UNREAD = "the cluster's RuntimeClasses are not known"
    CDI = "the cluster injects devices through CDI (RuntimeClass nvidia-legacy), see injections.runtimeClass.whenCdi"


def plugin_class(context: PodContext) -> str:
    """The class under which the device plugin runs; empty if it has none, or that is unknown."""
    plugin = context.policy.facts.device_plugin
    return "" if plugin is None else plugin.runtime_class or ""


def obstacle(context: PodContext) -> ClassObstacle | None:
    """Why the class cannot be injected. The API server rejects pods with a missing one (KAI-Scheduler#1543)."""
    settings = context.policy.injections.runtime_class
    if context.policy.injects_by_cdi:
        return ClassObstacle.CDI
    known = context.runtime_class(context.policy.injected_class)
    if known is None:
        if context.policy.facts.runtime_classes is not None:
            return ClassObstacle.MISSING
        waiting = context.policy.reads_classes or settings.when_unknown == "skip"
        return ClassObstacle.UNREAD if waiting else None
    if contradicts(context, known):
        return ClassObstacle.CONTRADICTS
    return ClassObstacle.SANDBOX if context.mps_requests and is_sandbox(context, known.name) else None


def is_sandbox(context: PodContext, name: str) -> bool:
    """Whether MPS does not work in the class, by its name or by its handler if that is known."""
    known = context.runtime_class(name)
    names = [name] if known is None else [name, known.handler]
    sandboxes = context.policy.injections.runtime_class.sandboxes
    return any(fnmatchcase(each, pattern) for each in names if len(each) <= _LONGEST_NAME for pattern in sandboxes)


_LONGEST_NAME = 253
"""Characters of the longest name that a Kubernetes object can have."""


def contradicts(context: PodContext, known: RuntimeClass) -> bool:
    """Whether the class's node selector and the pod's require different values; the API server rejects such pods."""
    selector = context.pod.members("nodeSelector")
    return any(selector.get(key, value) != value for key, value in known.node_selector.items())


def why_not(context: PodContext) -> str | None:
    """Why the class is not injected."""
    if not context.policy.injections.runtime_class.enabled:
        return OFF
    if not context.requests.positive:
        return NO_GPU
    if context.pod.spec.get("runtimeClassName") is not None:
        return _NAMED
    reason = obstacle(context)
    return None if reason is None else reason.value


_NAMED = "the pod names a class"
_REASONS = (OFF, NO_GPU, _NAMED, *(obstacle.value for obstacle in ClassObstacle))


def edits(context: PodContext) -> Sequence[Edit]:
    """The class."""
    return (Assign((*context.pod.spec_path, "runtimeClassName"), context.policy.injected_class),)


INJECTION = Injection("runtimeClass", why_not, edits, _REASONS, "The runtime class for pods that request a GPU")
