"""Placement by memory, from the pod's annotation.

Adds: from the annotation `gpushare-webhook/memory`, such as `6Gi`, required node affinity to nodes that give one
replica, or one whole card, at least this much memory; and `CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=6144M` in the containers
that request a replica. The labels `nvidia.com/gpu.memory` and `nvidia.com/gpu.replicas` of the known nodes and declared
node groups show what they give.

Why: a replica of one node may have 4 GiB, and that of the next 40 GiB. The scheduler counts replicas and does not know
their size.

Not when: no known node gives as much, or the affinity would have more than 16 terms: then GPS018 rejects the pod. No
affinity where the nodes are unknown or their labels do not give the memory, which GPS018 reports, where `nodeName`
binds the pod, and where the pod's own terms already exclude smaller nodes; no variable where the container sets it or
the annotation `gpushare-webhook/pinned-device-memory-limit` does.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import OFF, Injection
from webhook.policy.injections.limits import annotated_limits
from webhook.policy.memory_size import Obstacle
from webhook.policy.pods.variables import MEMORY
from webhook.policy.verdict import Append, Edit


def why_not(context: PodContext) -> str | None:
    """Why the pod is not placed by memory."""
    if not context.rules.settings.injections.memory.enabled:
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
_REASONS = (OFF, _FINAL, _NO_ANNOTATION, *(obstacle.value for obstacle in Obstacle if obstacle.rejects))


def edits(context: PodContext) -> Iterator[Edit]:
    """The affinity, unless steering made it part of its own, and the variable in each container without it."""
    size = context.memory_size
    if size and size.affinity and not context.placement.steered:
        yield from size.affinity.edits()
    if size and MEMORY not in annotated_limits(context):
        for request in context.first_mps_requests:
            if MEMORY not in request.container.variables:
                yield Append((*request.container.path, "env"), {"name": MEMORY, "value": f"0={size.mebibytes}M"})


INJECTION = Injection(
    "memory",
    why_not,
    edits,
    _REASONS,
    __doc__,
    settings=("injections.memory.enabled", "placement.nodeGroups", "facts.nodes"),
    sources=("NVIDIA/k8s-device-plugin#443", "NVIDIA/k8s-device-plugin#1119", "NVIDIA/k8s-device-plugin#535"),
)
