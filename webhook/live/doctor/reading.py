"""The records of `doctor` from plain objects of the API server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from webhook.cluster import plugin_config
from webhook.cluster.device_plugin import MOST_CONFIGS, parse_config_map
from webhook.cluster.objects import Object
from webhook.diagnostics import Diagnostic, dotted
from webhook.live.doctor.seen import (
    MOST_DETAIL,
    Configurations,
    Limits,
    OwnerPods,
    Role,
    SeenEvent,
    SeenNode,
    SeenPods,
    Template,
    Text,
)
from webhook.live.doctor.stack import program_pod, role_of
from webhook.live.pods import FINISHED, LivePod, live_pod
from webhook.manifests import documents
from webhook.policy.messages import cut
from webhook.policy.placement.cluster_objects import Taint
from webhook.policy.placement.node_classes import CAPABLE, CARD_COUNT, CONFIG_LABEL, DISCOVERED
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.pods.pod import clean_path
from webhook.policy.pods.quantity import NANO, QuantityError, parse
from webhook.policy.sharing import config

_VENDOR: Final = "nvidia.com/"
_MARKS: Final[Mapping[str, str]] = {
    "nvidia.com/gpu.present": "true",
    "feature.node.kubernetes.io/pci-10de.present": "true",
    "feature.node.kubernetes.io/pci-0300_10de.present": "true",
    "feature.node.kubernetes.io/pci-0302_10de.present": "true",
}
"""Labels by which the charts choose their nodes (their `affinity`), and that of the GPU operator."""

CAPACITY: Final = "capacity.cluster-autoscaler.kubernetes.io/"
"""The annotations by which a group without nodes tells the autoscaler of them (kubernetes/autoscaler
cluster-autoscaler/cloudprovider/clusterapi/README.md)."""

_OPENSHIFT: Final = "machine.openshift.io/GPU"


def seen_node(found: Object, gpus: GpuResources) -> SeenNode | None:
    """Read a node; None for one without GPUs and without labels that say that it has some."""
    metadata, status = found["metadata"], found.get("status") or {}
    labels = metadata.get("labels") or {}
    offered, capacity = (_units(status.get(part) or {}, gpus) for part in ("allocatable", "capacity"))
    if not (offered or capacity or _is_marked(labels)):
        return None
    listed = (found.get("spec") or {}).get("taints") or ()
    taints = tuple(Taint(one["key"], one["effect"], one.get("value") or "") for one in listed)
    annotations = {key: text for key, text in (metadata.get("annotations") or {}).items() if key.startswith(CAPACITY)}
    image = (status.get("nodeInfo") or {}).get("osImage", "")
    return SeenNode(metadata["name"], labels, taints, offered, capacity, annotations, image)


def _is_marked(labels: Mapping[str, str]) -> bool:
    if any(labels.get(key) == value for key, value in _MARKS.items()):
        return True
    return labels.get(CAPABLE) == "true" or CONFIG_LABEL in labels or labels.get(CARD_COUNT, "0") != "0"


def is_discovered(node: SeenNode) -> bool:
    """Whether GPU feature discovery has labelled the node, as one of its other labels shows."""
    others = DISCOVERED - {CAPABLE}
    return "nvidia.com/gfd.timestamp" in node.labels or not others.isdisjoint(node.labels)


def _units(amounts: Mapping[str, str], gpus: GpuResources) -> dict[str, int]:
    return {name: whole(amounts[name]) for name in amounts if name in gpus or name.startswith(_VENDOR)}


def whole(quantity: object) -> int:
    """Whole units of a quantity; 0 for one that is none."""
    try:
        return max(0, parse(quantity)) // NANO
    except QuantityError:
        return 0


class PodReader:
    """Collects what the pods show. `joins` is the folder by whose mount a container joins an MPS daemon."""

    def __init__(self, gpus: GpuResources, joins: str) -> None:
        self.seen = SeenPods()
        self._lookup = gpus.find
        self._joins = joins

    def add_program(self, found: Object) -> bool:
        """Add a pod if it is one of the GPU stack, and return whether it is."""
        role = role_of(found.get("spec") or {})
        if role is None:
            return False
        if (found.get("status") or {}).get("phase") in FINISHED:
            return True  # it runs nowhere
        pod = program_pod(found, role)
        self.seen.programs.append(pod)
        if role is Role.PLUGIN and pod.node:
            self.seen.plugins.setdefault(pod.node, set()).add(pod.owner or pod.name)
        return True

    def add(self, found: Object) -> None:
        """Add a pod."""
        if self.add_program(found):
            return
        spec = found.get("spec") or {}
        pod = live_pod(found, self._lookup)
        if pod.phase == "Pending":
            self.seen.pending.add((pod.namespace, pod.name))
        if pod.was_rejected:
            message = (found.get("status") or {}).get("message") or ""
            _count(self.seen.rejected.setdefault((pod.namespace, pod.owner), OwnerPods()), pod, message)
        if pod.phase in FINISHED:
            return
        if _mounts(spec, self._joins):
            _count(self.seen.joining.setdefault((pod.namespace, pod.owner), OwnerPods()), pod, "")
        if pod.requests:
            _count(self.seen.asking.setdefault(pod.namespace, OwnerPods()), pod, f"{pod.namespace}/{pod.name}")
            if name := spec.get("runtimeClassName"):
                _count(self.seen.classes.setdefault(name, OwnerPods()), pod, f"{pod.namespace}/{pod.name}")


def _count(pods: OwnerPods, pod: LivePod, detail: str) -> None:
    pods.count += 1
    if not pods.node:
        pods.node, pods.detail = pod.node, pods.detail or cut(detail, MOST_DETAIL)


def _mounts(spec: Mapping[str, Any], folder: str) -> bool:
    """Whether a pod mounts the folder of the host, or mounts a folder of the host there."""
    paths = {one.get("name"): (one.get("hostPath") or {}).get("path") for one in spec.get("volumes") or ()}
    if not any(paths.values()):
        return False
    if any(path and clean_path(path) == folder for path in paths.values()):
        return True
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    mounts = [mount for one in containers for mount in one.get("volumeMounts") or ()]
    return any(clean_path(one.get("mountPath") or "") == folder and paths.get(one.get("name")) for one in mounts)


def configurations(where: str, found: Object | None, mig_strategy: str | None) -> Configurations:
    """Read a ConfigMap of the plugin; None for one that does not exist."""
    if found is None:
        return Configurations(where, None)
    _, data = parse_config_map(Raw(msgspec.json.encode(found)))
    return Configurations(where, {key: _text(key, data[key], mig_strategy) for key in sorted(data)[:MOST_CONFIGS]})


def _text(key: str, data: bytes, mig_strategy: str | None) -> Text:
    if len(data) > plugin_config.LARGEST:
        return Text(None, None, f"larger than {plugin_config.LARGEST} bytes")
    document = next(iter(documents("", data)), None)
    if isinstance(document, Diagnostic):
        return Text(None, None, f"line {document.line}: {document.message}")
    value = None if document is None else document.value
    try:
        return Text(value, config.parse(key, value, mig_strategy))
    except config.RefusedError as error:
        return Text(value, None, "" if mig_strategy is None else f"{dotted(error.path)}: {error}")


def seen_event(found: Object) -> SeenEvent:
    """Read an event."""
    about = found.get("involvedObject") or {}
    return SeenEvent(
        found.get("reason", ""),
        about.get("namespace") or found["metadata"].get("namespace", ""),
        about.get("kind", ""),
        about.get("name", ""),
        (found.get("source") or {}).get("host") or found.get("reportingInstance") or "",
        cut(found.get("message") or "", _LONGEST_MESSAGE),
    )


_LONGEST_MESSAGE: Final = 1024
"""Characters of an event's message, which is as long at most (kubernetes pkg/apis/core/validation/events.go)."""


def limits(kind: str, found: Object, gpus: GpuResources) -> Limits | None:
    """Read a ResourceQuota or a LimitRange; None for one that names no GPU resource."""
    spec = found.get("spec") or {}
    if kind == "ResourceQuota":
        names: Iterable[str] = (key.partition(".")[2] for key in spec.get("hard") or ())
    else:
        fields = ("default", "defaultRequest", "max", "min", "maxLimitRequestRatio")
        names = (key for item in spec.get("limits") or () for field in fields for key in item.get(field) or ())
    if not any(name in gpus for name in names):
        return None
    metadata = found["metadata"]
    return Limits(kind, metadata.get("namespace", ""), metadata["name"], {"spec": spec})


def templates(kind: str, found: Object) -> Iterator[Template]:
    """The nodes that a group of machines says that it adds, by its annotations."""
    metadata = found["metadata"]
    annotations = metadata.get("annotations") or {}
    where = f"{kind} {metadata.get('namespace', '')}/{metadata['name']}"
    labels = dict(pair.split("=", 1) for pair in annotations.get(f"{CAPACITY}labels", "").split(",") if "=" in pair)
    count = annotations.get(f"{CAPACITY}gpu-count")
    if count is not None:
        resource = annotations.get(f"{CAPACITY}gpu-type") or "nvidia.com/gpu"
        yield Template(where, {resource: whole(count)}, labels, f"{CAPACITY}gpu-count")
    elif _OPENSHIFT in annotations:
        yield Template(where, {"nvidia.com/gpu": whole(annotations[_OPENSHIFT])}, labels, _OPENSHIFT)
