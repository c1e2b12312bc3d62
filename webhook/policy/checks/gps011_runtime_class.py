"""The runtime class does not fit.

Reads: `runtimeClassName`; with facts the cluster's RuntimeClasses, their handlers and node selectors.
Why: the API server refuses a pod whose class does not exist or whose node selector contradicts the pod's. MPS does not
work in sandboxes such as gVisor and Kata Containers. Where our own class is missing or contradicts, it is not injected.
Remedy: name a class that exists, or create it; leave sandboxed classes to pods without MPS.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache

from webhook.policy.case import Case
from webhook.policy.check import Check, Claims, Scope
from webhook.policy.injections.runtime_class import Obstacle, contradicts, obstacle
from webhook.policy.verdict import Claim, Path, Severity
from webhook.policy.wording import message


def run(case: Case) -> Claims:
    """At most two claims, on the pod's own class or on the one that is injected."""
    if case.pod.spec.get(_FIELD) is None:
        return _ours(case)
    path = (*case.pod.spec_path, _FIELD)
    name = case.pod.text(_FIELD)
    known = case.runtime_class(name)
    claims: list[Claim] = []
    if known is None and case.facts.runtime_classes is not None:
        said = message("there is no RuntimeClass {}; the API server refuses the pod", name)
        claims.append(Claim(path, said, "name one that exists, or leave it out"))
    elif known is not None and contradicts(case, known):
        said = message("the node selector of RuntimeClass {} contradicts the pod's", name)
        claims.append(Claim(path, said, "make the pod's nodeSelector agree with the class"))
    return claims + _sandbox(case, name, path)


def _ours(case: Case) -> list[Claim]:
    """What is wrong with our class, or keeps it from being injected."""
    settings = case.rules.settings.injections.runtime_class
    if not settings.enabled:
        return []
    match obstacle(case):
        case None:
            return _sandbox(case, settings.name, case.pod.spec_path)
        case Obstacle.MISSING:
            said = message("there is no RuntimeClass {} in the cluster, so it was not injected", settings.name)
            return [Claim(case.pod.spec_path, said, "create it, or set injections.runtimeClass.name")]
        case Obstacle.CONTRADICTS:
            said = message(
                "the node selector of RuntimeClass {} contradicts the pod's; it was not injected", settings.name
            )
            return [Claim((*case.pod.spec_path, "nodeSelector"), said, "make the nodeSelector agree with the class")]
        case Obstacle.UNREAD:
            return []


def _sandbox(case: Case, name: str, path: Path) -> list[Claim]:
    """Whether the class, or its handler, is one in which MPS does not work."""
    known = case.runtime_class(name)
    names = (name,) if known is None else (name, known.handler)
    sandboxes = case.rules.settings.injections.runtime_class.sandboxes
    if not case.mps or not any(_is_sandbox(one, sandboxes) for one in names):
        return []
    said = message("RuntimeClass {} is a sandbox, in which MPS does not work", name)
    return [Claim(path, said, "name another class, or select nodes with whole cards")]


@lru_cache(maxsize=1024)
def _is_sandbox(name: str, sandboxes: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, sandbox) for sandbox in sandboxes)


_FIELD = "runtimeClassName"

CHECK = Check("GPS011", Severity.WARN, Scope.ASKS, run, __doc__)
