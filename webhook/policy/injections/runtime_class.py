"""The runtime class for pods that ask for a GPU.

Adds: `runtimeClassName`, by default `nvidia`, for shared, whole-card and MIG names alike.
Why: where the nvidia runtime is not the default one, a pod without it starts and sees no driver.
Not when: the pod names a class; the class is known to be missing, its node selector contradicts the pod's, or MPS does
not work in it (GPS011 warns); RuntimeClasses are to be read and are not read yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from fnmatch import fnmatchcase

from webhook.policy.case import Case
from webhook.policy.facts import RuntimeClass
from webhook.policy.injection import Injection
from webhook.policy.verdict import Assign, Edit


class Obstacle(Enum):
    """Why the class is not injected."""

    MISSING = "missing"
    CONTRADICTS = "contradicts"
    SANDBOX = "sandbox"
    UNREAD = "unread"


def obstacle(case: Case) -> Obstacle | None:
    """What speaks against injecting the class. A missing one would have every pod refused (KAI-Scheduler#1543)."""
    settings = case.rules.settings
    if case.facts.runtime_classes is None:
        waiting = settings.facts.runtime_classes or settings.injections.runtime_class.when_unknown == "skip"
        return Obstacle.UNREAD if waiting else None
    known = case.runtime_class(settings.injections.runtime_class.name)
    if known is None:
        return Obstacle.MISSING
    if contradicts(case, known):
        return Obstacle.CONTRADICTS
    return Obstacle.SANDBOX if case.mps and is_sandbox(case, known.name) else None


def is_sandbox(case: Case, name: str) -> bool:
    """Whether the class, or its handler where it is known, is one in which MPS does not work."""
    known = case.runtime_class(name)
    sandboxes = case.rules.settings.injections.runtime_class.sandboxes
    return _fits(name, sandboxes) or (known is not None and _fits(known.handler, sandboxes))


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return len(name) <= _LONGEST_NAME and any(fnmatchcase(name, pattern) for pattern in patterns)


_LONGEST_NAME = 253
"""Characters of the longest name that an object of the API server can have."""


def contradicts(case: Case, known: RuntimeClass) -> bool:
    """Whether the class's node selector and the pod's want different values; the API server refuses such pods."""
    selector = case.pod.members("nodeSelector")
    return any(selector.get(key, value) != value for key, value in known.node_selector.items())


def run(case: Case) -> Sequence[Edit]:
    """The class, unless the pod names one."""
    settings = case.rules.settings.injections.runtime_class
    if not settings.enabled or not case.demand.asks or case.pod.spec.get("runtimeClassName") is not None:
        return ()
    if obstacle(case) is not None:
        return ()
    return (Assign((*case.pod.spec_path, "runtimeClassName"), settings.name),)


INJECTION = Injection("runtimeClass", run, __doc__)
