"""No devices for containers that request no GPU."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import NO_GPU, OFF, Injection
from webhook.policy.pods.pod import VISIBLE_DEVICES, Container
from webhook.policy.pods.reading import elements
from webhook.policy.verdict import Append, Edit


def why_not(context: PodContext) -> str | None:
    """Why the variable is not injected."""
    settings = context.policy.injections.void_devices
    if not settings.enabled:
        return OFF
    if settings.pods == "gpu" and not context.requests.positive:
        return NO_GPU
    return _MONITOR if is_monitor(context) else None


def is_monitor(context: PodContext) -> bool:
    """Whether the pod mounts a folder by which monitors of GPUs and device plugins see all of a node."""
    return any(_KUBELET.intersection(path.split("/")) for path in context.pod.host_paths())


_MONITOR = "the pod mounts a folder of the kubelet's device manager, as monitors of GPUs do"
_KUBELET = frozenset({"pod-resources", "device-plugins"})
"""Folders of the kubelet, by which dcgm-exporter and device plugins see all GPUs of a node."""


def edits(context: PodContext) -> Iterable[Edit]:
    """The variable, for each container that requests no GPU, does not set it and is no monitor of MIG devices."""
    requesting = {request.container.path for request in context.requests.positive}
    return (
        Append((*container.path, "env"), {"name": VISIBLE_DEVICES, "value": "void"})
        for container in context.pod.every_container()
        if container.path not in requesting and VISIBLE_DEVICES not in container.variables and not sees_mig(container)
    )


_MIG = frozenset({"NVIDIA_MIG_CONFIG_DEVICES", "NVIDIA_MIG_MONITOR_DEVICES"})
"""Variables by which the container toolkit lets a container manage or monitor MIG devices.

GPU feature discovery sets the second (NVIDIA/k8s-device-plugin deployments/helm).
"""


def sees_mig(container: Container) -> bool:
    """Whether a container sets a variable of programs that manage or monitor all GPUs of a node."""
    return any(
        isinstance(name := entry.get("name"), str) and name in _MIG
        for entry in elements(container.raw, "env", container.path)
    )


INJECTION = Injection(
    "voidDevices", why_not, edits, (OFF, NO_GPU, _MONITOR), "No devices for containers that request no GPU"
)
