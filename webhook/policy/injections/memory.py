"""Placement by memory, from the pod's annotation."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import OFF, Injection
from webhook.policy.injections.limits import annotated_limits
from webhook.policy.placement.memory import MemoryObstacle
from webhook.policy.pods.pod import MEMORY
from webhook.policy.verdict import Append, Edit


def why_not(context: PodContext) -> str | None:
    """Why the pod is not placed by memory."""
    if not context.rules.injections.memory.enabled:
        return OFF
    # Another replica of the webhook may know other nodes: a pod is not to miss what only one of them would add.
    if context.is_checked_as_it_is:
        return _FINAL
    size = context.memory_size
    if size is None:
        return _NO_ANNOTATION
    return size.obstacle.value if size.obstacle is not None and size.obstacle.rejects else None


_FINAL = "the pod is checked as it is"
_NO_ANNOTATION = "no well-formed annotation asks for memory, or the pod requests no shared resource"
_REASONS = (OFF, _FINAL, _NO_ANNOTATION, *(obstacle.value for obstacle in MemoryObstacle if obstacle.rejects))


def edits(context: PodContext) -> Iterator[Edit]:
    """The affinity, unless steering made it part of its own, and the variable in each container without it."""
    size = context.memory_size
    if size and size.affinity and not context.placement.steered:
        yield from size.affinity.edits()
    if size and MEMORY not in annotated_limits(context):
        for request in context.first_mps_requests:
            if MEMORY not in request.container.variables:
                yield Append((*request.container.path, "env"), {"name": MEMORY, "value": f"0={size.mebibytes}M"})


INJECTION = Injection("memory", why_not, edits, _REASONS, "Placement by memory, from the pod's annotation")
