"""The pod reaches GPUs past the allocation.

Reads: `NVIDIA_VISIBLE_DEVICES` in `env` of every container, whether the pod asks for a GPU or not; `privileged` of
containers that ask for one.
Why: the pod's value beats the device plugin's, so `all` shows every GPU of the node, and one replica works on cards of
others. A privileged container sees every device whatever was allocated. An image's own value and `envFrom` cannot be
seen here.
Remedy: leave the variable out, or set it to `void`; drop `privileged`.
"""

from __future__ import annotations

from webhook.policy.case import Case
from webhook.policy.check import Check, Claims, Scope
from webhook.policy.pod import Container, members, text
from webhook.policy.variables import VISIBLE_DEVICES
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message

_HARMLESS = frozenset({"", "void", "none"})


def run(case: Case) -> Claims:
    """One claim a container and way."""
    claims: list[Claim] = []
    for container in case.pod.containers:
        if VISIBLE_DEVICES in container.variables:
            claims += _visible(container)
    for container in {ask.container: None for ask in case.demand.asks}:
        path = (*container.path, "securityContext")
        if members(container.raw, "securityContext", container.path).get("privileged") is True:
            said = message(f"{container.kind} {{}} is privileged and sees every GPU of its node", container.name)
            claims.append(Claim((*path, "privileged"), said, "drop privileged; a GPU needs no privileges"))
    return claims


def _visible(container: Container) -> list[Claim]:
    entry = container.variable(VISIBLE_DEVICES) or {}
    path = container.variable_path(VISIBLE_DEVICES)
    value = text(entry, "value", container.variable_path(VISIBLE_DEVICES, ""))
    if entry.get("valueFrom") is not None:
        path = container.variable_path(VISIBLE_DEVICES, "valueFrom")
        said = message(f"{container.kind} {{}} takes {VISIBLE_DEVICES} from elsewhere", container.name)
        return [Claim(path, said, "leave it out; the device plugin sets it")]
    if value in _HARMLESS:
        return []
    said = message(
        f"{container.kind} {{}} sets {VISIBLE_DEVICES} to {{}}, past what is allocated", container.name, value
    )
    return [Claim(path, said, "leave it out, or set it to void")]


CHECK = Check("GPS007", Severity.WARN, Scope.ANY, run, __doc__)
