"""The runtime class does not fit.

Reads: `runtimeClassName`; with facts the cluster's RuntimeClasses, their handlers and node selectors.
Why: the API server refuses a pod whose class does not exist or whose node selector contradicts the pod's. MPS does not
work in sandboxes such as gVisor and Kata Containers. Where our own class is missing or contradicts, it is not injected.
Remedy: name a class that exists, or create it; leave sandboxed classes to pods without MPS.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.injections.runtime_class import Obstacle, contradicts, is_sandbox, obstacle
from webhook.policy.verdict import Claim, Path, Severity
from webhook.policy.wording import message


def run(context: PodContext) -> Claims:
    """At most two claims, on the pod's own class or on the one that is injected."""
    if context.pod.spec.get(_FIELD) is None:
        return _ours(context)
    path = (*context.pod.spec_path, _FIELD)
    name = context.pod.text(_FIELD)
    known = context.runtime_class(name)
    claims: list[Claim] = []
    if known is None and context.facts.runtime_classes is not None:
        said = message("there is no RuntimeClass {}; the API server refuses the pod", name)
        claims.append(Claim(path, said, "name one that exists, or leave it out"))
    elif known is not None and contradicts(context, known):
        said = message("the node selector of RuntimeClass {} contradicts the pod's", name)
        claims.append(Claim(path, said, "make the pod's nodeSelector agree with the class"))
    if context.mps and is_sandbox(context, name):
        said = message("RuntimeClass {} is a sandbox, in which MPS does not work", name)
        claims.append(Claim(path, said, "name another class, or select nodes with whole cards"))
    return claims


def _ours(context: PodContext) -> Claims:
    """What keeps our class from being injected."""
    settings = context.rules.settings.injections.runtime_class
    told = _OBSTACLES.get(obstacle(context)) if settings.enabled else None
    if told is None:
        return ()
    field, said, remedy = told
    return (Claim((*context.pod.spec_path, *field), message(said, settings.name), remedy),)


_OBSTACLES: dict[Obstacle | None, tuple[Path, str, str]] = {
    Obstacle.MISSING: (
        (),
        "there is no RuntimeClass {} in the cluster, so it was not injected",
        "create it, or set injections.runtimeClass.name",
    ),
    Obstacle.CONTRADICTS: (
        ("nodeSelector",),
        "the node selector of RuntimeClass {} contradicts the pod's; it was not injected",
        "make the pod's nodeSelector agree with the class",
    ),
    Obstacle.SANDBOX: (
        (),
        "RuntimeClass {} is a sandbox, in which MPS does not work; it was not injected",
        "set injections.runtimeClass.name to a class without a sandbox",
    ),
}
"""Where each obstacle is told, what is said of it, and the remedy."""

_FIELD = "runtimeClassName"

CHECK = Check("GPS011", Severity.WARN, Scope.ASKS, run, __doc__)
