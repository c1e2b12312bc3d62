"""The pod reaches GPUs beyond its allocation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from webhook.policy.checks.check import Check, Scope, about
from webhook.policy.context import PodContext
from webhook.policy.injections.runtime_class import is_sandbox
from webhook.policy.injections.void_devices import is_monitor, sees_mig
from webhook.policy.messages import message
from webhook.policy.other_schedulers import manager_of
from webhook.policy.placement.node_sets import Nodes
from webhook.policy.placement.selector import Requirement
from webhook.policy.pods.pod import VISIBLE_DEVICES, Container
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.reading import members, text
from webhook.policy.replica_limits import counts_gpus
from webhook.policy.verdict import Replacement, Severity, Violation
from webhook.policy.workloads.chosen import may_get_gpus
from webhook.policy.workloads.kinds import group_of
from webhook.policy.workloads.paths import Assembly

_HARMLESS = frozenset({"", "void", "none"})


def run(context: PodContext) -> Iterator[Violation]:
    """One violation per container for the variable, one for each mount of a device, and one for `privileged`.

    One per pod for the runtime class, if the pod requests no GPU.
    """
    for container in context.checked_containers():
        if VISIBLE_DEVICES in container.variables and not _by_scheduler(context, container):
            yield from _visible(context, container)
    for container in context.pod.mounting("nvidia-container-devices"):
        if context.origin.added_containers is None or container.name in context.origin.added_containers:
            yield from _mounted(container)
    if not context.requests.positive:
        if context.pod.spec.get("runtimeClassName") is not None and context.origin.added_containers is None:
            yield from _by_class(context)
        return
    requesting = context.requests.containers if context.origin.added_containers is None else ()
    for container in chain(requesting, context.checked_ephemeral_containers()):
        if container.is_privileged and not _takes_all(context, container):
            path = (*container.path, "securityContext", "privileged")
            problem = about(container, "is privileged and sees every GPU of its node")
            if _uses_rdma(container):
                yield Violation(path, problem, _FOR_RDMA)
            else:
                fix = () if counts_gpus(context) else (Replacement(path, False),)
                yield Violation(path, problem, "remove privileged; using a GPU requires no privileges", fix=fix)


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


_CLASSES = frozenset({"nvidia", "nvidia-cdi", "nvidia-legacy"})
"""The classes that the GPU operator creates (NVIDIA/gpu-operator controllers/object_controls.go), and k3s.

Their handler is the NVIDIA container runtime, which gives a container the devices that NVIDIA_VISIBLE_DEVICES names,
also where the image sets it. CUDA base images set it to all (nvidia/container-images/cuda, dist/*/*/base/Dockerfile).
"""


def _by_class(context: PodContext) -> list[Violation]:
    """The violation of a pod that requests no GPU and names a class of the NVIDIA runtime."""
    name = context.pod.text("runtimeClassName")
    if not _is_nvidia(context, name) or _is_meant_to_see(context) or _may_get_gpus(context):
        return []
    container = _exposed(context)
    if container is None:
        return []
    template = f"RuntimeClass {{}} gives CUDA images every GPU of the node; {container.kind} {{}} requests none"
    return [Violation(context.pod.path_of("runtimeClassName"), message(template, name, container.label), _OMIT_CLASS)]


_OMIT_CLASS = f"request a GPU, or omit runtimeClassName, or set {VISIBLE_DEVICES} to void in each container"


def _is_nvidia(context: PodContext, name: str) -> bool:
    """Whether a class runs the NVIDIA container runtime, by its handler if that is known, else by its name."""
    if name == context.rules.injections.runtime_class.name:
        return not is_sandbox(context, name)
    known = context.runtime_class(name)
    return name in _CLASSES if known is None or not known.handler else known.handler.startswith("nvidia")


def _is_meant_to_see(context: PodContext) -> bool:
    """Whether all pods get NVIDIA_VISIBLE_DEVICES=void, or the pod gets devices otherwise, or monitors all GPUs."""
    void = context.rules.injections.void_devices
    gets_devices = context.pod.elements("resourceClaims") or manager_of(context.pod) is not None
    sees_all = is_monitor(context) or any(map(sees_mig, context.pod.every_container()))
    return (void.enabled and void.pods == "all") or bool(gets_devices) or sees_all


def _may_get_gpus(context: PodContext) -> bool:
    """Whether the object does not show all that its pods request: a controller, or another object, may add GPUs.

    An operator that assembles a pod from fields of a custom kind may know GPUs of other fields.
    """
    held = context.extracted
    if isinstance(held.place.holds, Assembly):
        return True
    version, kind = held.manifest.get("apiVersion"), held.manifest.get("kind")
    return isinstance(version, str) and isinstance(kind, str) and may_get_gpus(group_of(version), kind)


def _exposed(context: PodContext) -> Container | None:
    """The first container that leaves the variable to its image; none where a device plugin may serve the pod.

    `_visible` reports a value that the pod sets.
    """
    found = None
    for container in context.pod.every_container():
        for held in (container.limits, container.requests):
            if any("/" in name and held[name] not in _ZERO for name in held):
                return None
        if found is None and VISIBLE_DEVICES not in container.variables:
            found = container
    return found


_ZERO = (0, "0", None)


_FOR_RDMA = "replace privileged with the capability IPC_LOCK; the RDMA device plugin provides /dev/infiniband"


def _uses_rdma(container: Container) -> bool:
    """Whether the container requests a device for RDMA, or mounts all of them, for which many are privileged."""
    if any(name.startswith("rdma/") for held in (container.limits, container.requests) for name in held):
        return True
    return any(path == _RDMA or path.startswith(f"{_RDMA}/") for path in container.mounts)


_RDMA = "/dev/infiniband"


def _takes_all(context: PodContext, container: Container) -> bool:
    """Whether the container requests every GPU of each known node that could take the pod, and so sees no others'."""
    placement, index = context.placement, context.placement.cluster.index
    nodes = placement.possible if placement.cluster.known else 0
    if not nodes or nodes & index.selected(_PARTITIONED):
        return False
    requested = [request for request in context.requests.positive if request.container is container]
    others = context.rules.resources.keys() - {request.resource.name for request in requested}
    beyond: Nodes = 0
    for request in requested:
        name = request.resource.name
        if request.resource.kind == "mig" or name in placement.cluster.dynamic:
            return False
        beyond |= ~index.offering(name, request.billionths) | index.offering(name, request.billionths + NANO)
    for name in others:
        beyond |= index.offering(name, 1)
    return bool(requested) and not nodes & beyond


_PARTITIONED = Requirement({"nvidia.com/mig.strategy": "mixed"}, None)
"""Nodes that may offer MIG slices, under names of their own, beside whole cards."""

CHECK = Check("GPS007", Severity.WARN, Scope.EPHEMERAL, run, "The pod reaches GPUs beyond its allocation")
