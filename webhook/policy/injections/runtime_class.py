"""The runtime class for pods that request a GPU.

Adds: `runtimeClassName`, by default `nvidia`, for shared, whole-card and MIG resources alike.
Why: where the nvidia runtime is not the default, a pod without the class starts and sees no driver.
Not when: the pod names a class; the class is known to be missing, its node selector contradicts the pod's, or MPS does
not work in it (GPS011 warns); the webhook is configured to read RuntimeClasses and has not read them yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from fnmatch import fnmatchcase

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import Injection
from webhook.policy.placement.facts import RuntimeClass
from webhook.policy.verdict import Assign, Edit


class Obstacle(Enum):
    """Why the class is not injected."""

    MISSING = "missing"
    CONTRADICTS = "contradicts"
    SANDBOX = "sandbox"
    UNREAD = "unread"


def obstacle(context: PodContext) -> Obstacle | None:
    """Why the class cannot be injected. The API server rejects pods with a missing one (KAI-Scheduler#1543)."""
    settings = context.rules.settings
    if context.facts.runtime_classes is None:
        waiting = settings.facts.runtime_classes or settings.injections.runtime_class.when_unknown == "skip"
        return Obstacle.UNREAD if waiting else None
    known = context.runtime_class(settings.injections.runtime_class.name)
    if known is None:
        return Obstacle.MISSING
    if contradicts(context, known):
        return Obstacle.CONTRADICTS
    return Obstacle.SANDBOX if context.mps_requests and is_sandbox(context, known.name) else None


def is_sandbox(context: PodContext, name: str) -> bool:
    """Whether MPS does not work in the class, by its name or by its handler if that is known."""
    known = context.runtime_class(name)
    sandboxes = context.rules.settings.injections.runtime_class.sandboxes
    return _matches(name, sandboxes) or (known is not None and _matches(known.handler, sandboxes))


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return len(name) <= _LONGEST_NAME and any(fnmatchcase(name, pattern) for pattern in patterns)


_LONGEST_NAME = 253
"""Characters of the longest name that a Kubernetes object can have."""


def contradicts(context: PodContext, known: RuntimeClass) -> bool:
    """Whether the class's node selector and the pod's require different values; the API server rejects such pods."""
    selector = context.pod.members("nodeSelector")
    return any(selector.get(key, value) != value for key, value in known.node_selector.items())


def run(context: PodContext) -> Sequence[Edit]:
    """The class, unless the pod names one."""
    settings = context.rules.settings.injections.runtime_class
    if not settings.enabled or not context.requests.positive or context.pod.spec.get("runtimeClassName") is not None:
        return ()
    if obstacle(context) is not None:
        return ()
    return (Assign((*context.pod.spec_path, "runtimeClassName"), settings.name),)


INJECTION = Injection("runtimeClass", run, __doc__)
