"""The runtime class does not fit.

Reads: `runtimeClassName`; with facts the cluster's RuntimeClasses, their handlers and node selectors.
Why: the API server refuses a pod whose class does not exist or whose node selector contradicts the pod's. MPS does not
work in sandboxes such as gVisor and Kata Containers. Where our own class is missing or contradicts, it is not injected.
Remedy: name a class that exists, or create it; leave sandboxed classes to pods without MPS.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from webhook.policy.case import Case
from webhook.policy.check import Check, Claims, Scope
from webhook.policy.injections.runtime_class import Obstacle, contradicts, obstacle
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message


def run(case: Case) -> Claims:
    """At most two claims, on the pod's own class or on the one that was to be injected."""
    path = (*case.pod.spec_path, "runtimeClassName")
    if case.pod.spec.get("runtimeClassName") is None:
        return _ours(case)
    name = case.pod.text("runtimeClassName")
    known = case.runtime_class(name)
    claims: list[Claim] = []
    if known is None and case.facts.runtime_classes is not None:
        said = message("there is no RuntimeClass {}; the API server refuses the pod", name)
        claims.append(Claim(path, said, "name one that exists, or leave it out"))
    elif known is not None and contradicts(case, known):
        said = message("the node selector of RuntimeClass {} contradicts the pod's", name)
        claims.append(Claim(path, said, "make the pod's nodeSelector agree with the class"))
    handler = known.handler if known is not None else ""
    sandboxes = case.rules.settings.injections.runtime_class.sandboxes
    if case.mps and any(fnmatchcase(name, sandbox) or fnmatchcase(handler, sandbox) for sandbox in sandboxes):
        said = message("RuntimeClass {} is a sandbox, in which MPS does not work", name)
        claims.append(Claim(path, said, "leave it out, or select nodes with whole cards"))
    return claims


def _ours(case: Case) -> Claims:
    """What keeps our class from being injected, told at the spec."""
    settings = case.rules.settings.injections.runtime_class
    if not settings.enabled:
        return ()
    found = obstacle(case)
    if found is Obstacle.MISSING:
        said = message("there is no RuntimeClass {} in the cluster, so it was not injected", settings.name)
        return (Claim(case.pod.spec_path, said, "create it, or set injections.runtimeClass.name"),)
    if found is Obstacle.CONTRADICTS:
        said = message("the node selector of RuntimeClass {} contradicts the pod's; it was not injected", settings.name)
        return (Claim((*case.pod.spec_path, "nodeSelector"), said, "make the nodeSelector agree with the class"),)
    return ()


CHECK = Check("GPS011", Severity.WARN, Scope.ASKS, run, __doc__)
