"""The pod reaches GPUs past the allocation.

Reads: `NVIDIA_VISIBLE_DEVICES` in `env` of every container, ephemeral ones too, whether the pod asks for a GPU or not;
`privileged` of containers that ask for one, and of ephemeral containers in a pod that asks.
Why: the pod's value beats the device plugin's, so `all` shows every GPU of the node, and one replica works on cards of
others. A privileged container sees every device whatever was allocated. An ephemeral container cannot ask and gets no
allocation, so all that it sees is past it. An image's own value and `envFrom` cannot be seen here.
Remedy: leave the variable out, or set it to `void`; drop `privileged`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from webhook.policy.checks.check import Check, Scope
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import EPHEMERAL, Container
from webhook.policy.pods.reading import members, text
from webhook.policy.pods.variables import VISIBLE_DEVICES
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message

_HARMLESS = frozenset({"", "void", "none"})


def run(context: PodContext) -> Iterator[Claim]:
    """One claim per container and way."""
    for container in context.checked_containers():
        if VISIBLE_DEVICES in container.variables:
            yield from _visible(container)
    for container in _beside_gpus(context) if context.demand.asks else ():
        if _is_privileged(container):
            path = (*container.path, "securityContext", "privileged")
            said = message(f"{container.kind} {{}} is privileged and sees every GPU of its node", container.name)
            yield Claim(path, said, "drop privileged; a GPU needs no privileges")


def _beside_gpus(context: PodContext) -> Iterator[Container]:
    """The checked containers that ask for a GPU, and the ephemeral ones of a pod that does."""
    if context.origin.added is None:
        asking = (ask.container for ask in context.demand.asks)
        yield from (container for container, _ in groupby(asking))  # a container's asks follow one another
    yield from (container for container in context.checked_containers() if container.kind is EPHEMERAL)


def _is_privileged(container: Container) -> bool:
    return members(container.raw, "securityContext", container.path).get("privileged") is True


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


CHECK = Check("GPS007", Severity.WARN, Scope.ADDED, run, __doc__)
