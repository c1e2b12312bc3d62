"""The pod reaches GPUs beyond its allocation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from webhook.policy.checks.check import Check, Scope, about
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import VISIBLE_DEVICES, Container
from webhook.policy.pods.reading import members, text
from webhook.policy.replica_limits import counts_gpus
from webhook.policy.verdict import Replacement, Severity, Violation

_HARMLESS = frozenset({"", "void", "none"})


def run(context: PodContext) -> Iterator[Violation]:
    """One violation per container for the variable, one for each mount of a device, and one for `privileged`."""
    for container in context.checked_containers():
        if VISIBLE_DEVICES in container.variables and not _by_scheduler(context, container):
            yield from _visible(context, container)
    for container in context.pod.mounting("nvidia-container-devices"):
        if context.origin.added_containers is None or container.name in context.origin.added_containers:
            yield from _mounted(container)
    if not context.requests.positive:
        return
    requesting = context.requests.containers if context.origin.added_containers is None else ()
    for container in chain(requesting, context.checked_ephemeral_containers()):
        if container.is_privileged:
            path = (*container.path, "securityContext", "privileged")
            problem = about(container, "is privileged and sees every GPU of its node")
            remedy = "remove privileged; using a GPU requires no privileges"
            yield Violation(path, problem, remedy, fix=() if counts_gpus(context) else (Replacement(path, False),))


_DEVICES = "/var/run/nvidia-container-devices"
"""Where the container toolkit reads devices from mounts (NVIDIA/nvidia-container-toolkit internal/config/image)."""


def _mounted(container: Container) -> Iterator[Violation]:
    for path, index in container.mounts.items():
        if path == _DEVICES or path.startswith(f"{_DEVICES}/"):
            problem = about(container, "mounts {}, which exposes GPUs to it", path)
            place = (*container.path, "volumeMounts", index, "mountPath")
            yield Violation(place, problem, "remove the mount; the device plugin adds what it allocates")


def _by_scheduler(context: PodContext, container: Container) -> bool:
    """Whether the scheduler that grants the container a share sets the variable, from a ConfigMap."""
    if context.requests.annotated is None or context.requests.annotated.path != container.path:
        return False
    entry = container.variable(VISIBLE_DEVICES) or {}
    source = members(entry, "valueFrom", container.variable_path(VISIBLE_DEVICES))
    return source.get("configMapKeyRef") is not None


def _visible(context: PodContext, container: Container) -> list[Violation]:
    entry = container.variable(VISIBLE_DEVICES) or {}
    is_reference = entry.get("valueFrom") is not None
    path = container.variable_path(VISIBLE_DEVICES, "valueFrom" if is_reference else "value")
    value = text(entry, "value", container.variable_path(VISIBLE_DEVICES, ""))
    if is_reference or context.is_replaced(value):
        problem = about(container, f"sets {VISIBLE_DEVICES} by reference")
        return [Violation(path, problem, "omit it; the device plugin sets it")]
    if value in _HARMLESS:
        return []
    problem = about(container, f"sets {VISIBLE_DEVICES} to {{}}, beyond its allocation", value)
    # In a container that gets devices, void would override the allocation too.
    fix = () if _gets_devices(context, container) else (Replacement(path, "void"),)
    return [Violation(path, problem, "omit it, or set it to void", fix=fix)]


def _gets_devices(context: PodContext, container: Container) -> bool:
    """Whether a device plugin, a resource claim or a scheduler may give the container a GPU."""
    resources = members(container.raw, "resources", container.path)
    named = any("/" in name for held in (container.limits, container.requests) for name in held)
    return named or "claims" in resources or context.requests.annotated is not None


CHECK = Check("GPS007", Severity.WARN, Scope.EPHEMERAL, run, "The pod reaches GPUs beyond its allocation")
