"""Schedulers that share GPUs in their own way, and the markers by which a pod shows that one of them manages it."""

from __future__ import annotations

from typing import NamedTuple

from webhook.policy.context import PodContext
from webhook.policy.pods.pod import Pod


class Manager(NamedTuple):
    """A scheduler: its name in messages, the markers of its pods, and the remedy for its clusters.

    `scheduler` is the value of `schedulerName`, None if it also schedules for NVIDIA's device plugin. `resources` begin
    the names of its resources.
    """

    name: str
    scheduler: str | None
    annotations: frozenset[str]
    resources: tuple[str, ...]
    remedy: str


_NO_LIMIT = "set limits.perContainer and limits.perPod to null"

MANAGERS = (
    # Project-HAMi/HAMi docs/config.md, charts/hami/values.yaml
    Manager("HAMi", "hami-scheduler", frozenset(), ("nvidia.com/gpumem", "nvidia.com/gpucores"), _NO_LIMIT),
    # kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go
    Manager(
        "KAI Scheduler",
        "kai-scheduler",
        frozenset({"gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"}),
        (),
        "use the profile kai",
    ),
    # volcano-sh/volcano pkg/scheduler/api/devices/nvidia/vgpu/type.go
    Manager("Volcano", None, frozenset(), ("volcano.sh/vgpu-",), _NO_LIMIT),
)


def of_unnamed_cluster(context: PodContext) -> Manager | None:
    """The scheduler that may manage a pod of a cluster that nothing describes; None where anything does.

    Any author can set a marker. So it counts only on a command line that knows nothing of the cluster.
    """
    return manager_of(context.pod) if context.policy.trusts_markers else None


def remedy(context: PodContext) -> str:
    """To describe the cluster of the scheduler that manages a pod, with the words that join it to another remedy.

    Where the cluster is known, only resources that another device plugin serves show that.
    """
    manager = of_unnamed_cluster(context) or _by_resources(context.pod)
    return "" if manager is None else f"; for a cluster that {manager.name} manages, {manager.remedy}"


def manager_of(pod: Pod) -> Manager | None:
    """The scheduler whose markers a pod has."""
    scheduler = pod.spec.get("schedulerName")
    for manager in MANAGERS:
        is_named = scheduler is not None and scheduler == manager.scheduler
        if is_named or not manager.annotations.isdisjoint(pod.annotations):
            return manager
    return _by_resources(pod)


def _by_resources(pod: Pod) -> Manager | None:
    names = {name for container in pod.containers for name in (*container.limits, *container.requests)}
    for manager in MANAGERS:
        for name in names:
            if name.startswith(manager.resources):
                return manager
    return None
