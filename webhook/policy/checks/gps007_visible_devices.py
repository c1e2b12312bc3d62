"""The pod reaches GPUs beyond its allocation, or hides its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, groupby
from operator import attrgetter

from webhook.policy.checks.check import about, variable
from webhook.policy.context import PodContext
from webhook.policy.injections.runtime_class import is_sandbox
from webhook.policy.injections.void_devices import is_monitor, sees_mig
from webhook.policy.placement.node_index import NodeBitset
from webhook.policy.placement.platforms import manager_of
from webhook.policy.placement.selector import Requirement
from webhook.policy.pods.pod import CUDA_VISIBLE, VISIBLE_DEVICES, Container
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.reading import is_placeholder, members
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Violation, Violations, message
from webhook.policy.workloads.kinds import group_of
from webhook.policy.workloads.paths import Assembly
from webhook.policy.workloads.presets import GETTING_GPUS

_HARMLESS = frozenset({"", "void", "none"})
_PLUGIN_SETS_IT = f"remove {VISIBLE_DEVICES}; the device plugin sets it"

_DEVICES = "/var/run/nvidia-container-devices"
"""Where the container toolkit reads devices from mounts (NVIDIA/nvidia-container-toolkit internal/config/image)."""

_RDMA = "/dev/infiniband"


def run(context: PodContext) -> Violations:
    """One violation per container and variable, one for each mount of a device, and one for `privileged`.

    One per pod for the runtime class, if the pod requests no GPU. Where a request only adds ephemeral containers, the
    others are not checked.
    """
    pod, added = context.pod, context.origin.added_containers
    ephemeral = []
    if pod.spec.get("ephemeralContainers") is not None:
        ephemeral = [container for container in pod.ephemeral_containers() if added is None or container.name in added]
    for container in chain(pod.containers if added is None else (), ephemeral):
        if VISIBLE_DEVICES in container.variables:
            yield from _visible(context, container)
    for container in pod.mounting("nvidia-container-devices"):
        if added is None or container.name in added:
            yield from _mounted(container)
    if not context.requests.positive:
        if added is None and pod.spec.get("runtimeClassName") is not None:
            yield from _by_class(context)
        return
    requests = context.requests.positive if added is None else ()
    for container, own in groupby(requests, attrgetter("container")):
        if container.variables:
            yield from _hidden(context, container, list(own))
    for container in chain(context.requests.containers if added is None else (), ephemeral):
        if container.is_privileged and not _takes_all(context, container):
            yield _privileged(container)


def _privileged(container: Container) -> Violation:
    path = (*container.path, "securityContext", "privileged")
    names, remedy = (*container.limits, *container.requests), "remove privileged; using a GPU requires no privileges"
    if any(name.startswith("rdma/") for name in names) or any(_is_within(path, _RDMA) for path in container.mounts):
        # Many containers are privileged for RDMA: they request a device for it, or mount all of them.
        remedy = "replace privileged with the capability IPC_LOCK; the RDMA device plugin provides /dev/infiniband"
    return Violation(path, about(container, "is privileged and sees every GPU of its node"), remedy)


def _mounted(container: Container) -> Violations:
    for path, index in container.mounts.items():
        if _is_within(path, _DEVICES):
            problem = about(container, "mounts {}, which exposes GPUs to it", path)
            place = (*container.path, "volumeMounts", index, "mountPath")
            yield Violation(place, problem, "remove the mount; the device plugin adds what it allocates")


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _visible(context: PodContext, container: Container) -> Violations:
    """The violation of a container whose variable reaches GPUs that it does not request."""
    annotated = context.requests.annotated
    if annotated is not None and annotated.path == container.path:
        entry = container.variable(VISIBLE_DEVICES) or {}
        source = members(entry, "valueFrom", container.variable_path(VISIBLE_DEVICES))
        if source.get("configMapKeyRef") is not None:
            return  # the scheduler that grants the share sets the variable
    path, value = variable(container, VISIBLE_DEVICES)
    if value is None or context.is_replaced(value):
        yield Violation(path, about(container, f"sets {VISIBLE_DEVICES} by reference"), _PLUGIN_SETS_IT)
    elif value not in _HARMLESS:
        problem = about(container, f"sets {VISIBLE_DEVICES} to {{}}, beyond its allocation", value)
        is_claiming = "claims" in members(container.raw, "resources", container.path)
        if _asks(container) or is_claiming or annotated is not None:
            yield Violation(path, problem, _PLUGIN_SETS_IT)  # void would override the allocation too
        else:
            yield Violation(path, problem, "omit it, or set it to void")


def _asks(container: Container) -> bool:
    """Whether the container requests an extended resource, whose device plugin may give it a GPU."""
    amounts = chain(container.limits.items(), container.requests.items())
    return any("/" in name and amount not in (0, "0", None) for name, amount in amounts)


def _hidden(context: PodContext, container: Container, requests: Sequence[ResourceRequest]) -> Violations:
    """What hides from the container GPUs for which it asks."""
    path, value = variable(container, VISIBLE_DEVICES)
    if value in _HARMLESS and not context.policy.injects_by_cdi:
        dynamic = context.placement.cluster.dynamic
        # Only a device plugin names GPUs in the variable: neither a scheduler, nor a driver or CDI.
        if any(request.annotation is None and request.resource.name not in dynamic for request in requests):
            problem = about(container, f"sets {VISIBLE_DEVICES} to {{}}, which hides its GPU", value)
            yield Violation(path, problem, _PLUGIN_SETS_IT)
    path, value = variable(container, CUDA_VISIBLE)
    if value is None or is_placeholder(value):
        return
    gpus: int | None = -(-sum(request.billionths for request in requests) // NANO)
    if "claims" in members(container.raw, "resources", container.path) or requests[0].annotation is not None:
        gpus = None  # a resource claim or a scheduler decides
    fault = _fault_for_cuda(value, gpus)
    if fault is not None:
        problem = about(container, f"sets {CUDA_VISIBLE} to {{}}, {fault}", value)
        yield Violation(path, problem, f"remove {CUDA_VISIBLE}; CUDA counts the container's GPUs from 0")


def _fault_for_cuda(value: str, gpus: int | None) -> str | None:
    """What is wrong with a value of CUDA_VISIBLE_DEVICES in a container of at most this many GPUs.

    CUDA reads each entry as `strtoul` does and stops at the first that is no GPU; an entry that is repeated hides all
    (pytorch/pytorch torch/cuda/__init__.py, `_parse_visible_devices`). Nothing is known of UUIDs.
    """
    seen: set[int] = set()
    for entry in value.split(",", _MOST_ENTRIES):
        index = _INDEX.match(entry)
        if index is None:
            is_last = bool(seen) or entry.lstrip().startswith(("GPU-", "MIG-"))
            return None if is_last else _HIDES_ALL
        number = int(index[1][:_LONGEST_INDEX])
        if number in seen:
            return _HIDES_ALL
        if gpus is not None and number >= gpus:
            return "beyond the GPUs that it requests"
        seen.add(number)
    return None


_INDEX = re.compile(r"\s*\+?([0-9]+)")
_LONGEST_INDEX = 20
_MOST_ENTRIES = 1_000
_HIDES_ALL = "which hides its GPUs from CUDA"


_CLASSES = frozenset({"nvidia", "nvidia-cdi", "nvidia-legacy"})
"""The classes that the GPU operator creates (NVIDIA/gpu-operator controllers/object_controls.go), and k3s.

Their handler is the NVIDIA container runtime, which gives a container the devices that NVIDIA_VISIBLE_DEVICES names,
also where the image sets it. CUDA base images set it to all (nvidia/container-images/cuda, dist/*/*/base/Dockerfile).
"""


def _by_class(context: PodContext) -> Violations:
    """The violation of a pod that requests no GPU and names a class of the NVIDIA runtime."""
    pod, name, injections = context.pod, context.pod.text("runtimeClassName"), context.policy.injections
    known = context.runtime_class(name)
    if name == injections.runtime_class.name:
        is_nvidia = not is_sandbox(context, name)
    elif known is None or not known.handler:
        is_nvidia = name in _CLASSES
    else:
        is_nvidia = known.handler.startswith("nvidia")
    if not is_nvidia or (injections.void_devices.enabled and injections.void_devices.pods == "all"):
        return
    # The pod gets devices otherwise, as from a device plugin, or monitors all GPUs.
    if pod.elements("resourceClaims") or manager_of(pod) is not None:
        return
    containers = list(pod.every_container())
    if is_monitor(context) or any(map(sees_mig, containers)) or any(map(_asks, containers)) or _may_get_gpus(context):
        return
    # A container that leaves the variable to its image.
    exposed = next((container for container in containers if VISIBLE_DEVICES not in container.variables), None)
    if exposed is not None:
        template = f"RuntimeClass {{}} gives CUDA images every GPU of the node; {exposed.kind} {{}} requests none"
        problem = message(template, name, exposed.label)
        remedy = f"request a GPU, or omit runtimeClassName, or set {VISIBLE_DEVICES} to void in each container"
        yield Violation(pod.path_of("runtimeClassName"), problem, remedy)


def _may_get_gpus(context: PodContext) -> bool:
    """Whether the object does not show all that its pods request: a controller, or another object, may add GPUs.

    An operator that assembles a pod from fields of a custom kind may know GPUs of other fields.
    """
    extracted = context.extracted
    if isinstance(extracted.place.holds, Assembly):
        return True
    version, kind = extracted.manifest.get("apiVersion"), extracted.manifest.get("kind")
    return isinstance(version, str) and isinstance(kind, str) and (group_of(version), kind) in GETTING_GPUS


def _takes_all(context: PodContext, container: Container) -> bool:
    """Whether the container requests every GPU of each known node that could take the pod, and so sees no others'."""
    placement, index = context.placement, context.placement.cluster.index
    nodes = placement.possible if placement.cluster.known else 0
    if not nodes or nodes & index.selected(_PARTITIONED):
        return False
    requested = [request for request in context.requests.positive if request.container is container]
    others = context.policy.resources.keys() - {request.resource.name for request in requested}
    beyond: NodeBitset = 0
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
