"""Pods that differ in all that the policies read, generated from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.cluster.generated_pods import generated
from tests.cluster.harness.manifests import annotated, host_path

if TYPE_CHECKING:
    from random import Random

    from tests.cluster.harness.api import Object

_VOLUME = "gpushare-mps-nvidia-com-gpu"
_HOST = "/run/nvidia/mps/nvidia.com/gpu/pipe"
_VOLUMES: tuple[Object, ...] = (
    host_path(_VOLUME, _HOST),
    host_path(_VOLUME, _HOST, "Directory"),
    {"name": _VOLUME, "emptyDir": {}},
    {"name": f"{_VOLUME}-2", "emptyDir": {}},
    host_path(f"{_VOLUME}-2", _HOST),
    {"name": f"{_VOLUME}-shared", "emptyDir": {}},
)
_MOUNT_PATHS = (
    "/mps/nvidia.com/gpu/pipe",
    "/mps//nvidia.com/./gpu/pipe/",
    "/mps/nvidia.com/gpu/other/../pipe",
    "/../mps/nvidia.com/gpu/pipe",
    "/mps/nvidia.com/gpu",
    "mps/nvidia.com/gpu/pipe",
)
_ANNOTATIONS = {
    "gpushare-webhook/active-thread-percentage": ("0", "00.0", "100", "100.0", "100.5", "007.50", "33.333333", "x", ""),
    "gpushare-webhook/pinned-device-memory-limit": ("4G", "0=04G, 1=512MB", "4G,0=1G", "0=0G", "64=1G", "4T", "1=1K,"),
    "gpushare-webhook/client-priority": ("0", "1", "2", "01"),
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": ("", "scratch", f"scratch, {_VOLUME}"),
    "gpushare-webhook/injected": ("", "tolerations", "pipeMount,mine"),
}
_STRATEGY, _CAPABLE = "nvidia.com/gpu.sharing-strategy", "nvidia.com/mps.capable"
_TERMS: tuple[Object, ...] = (
    {"key": _STRATEGY, "operator": "NotIn", "values": ["mps", "time-slicing"]},
    {"key": _STRATEGY, "operator": "In", "values": ["mps", "none"]},
    {"key": _STRATEGY, "operator": "DoesNotExist"},
    {"key": _CAPABLE, "operator": "NotIn", "values": ["true"]},
    {"key": _CAPABLE, "operator": "Exists"},
    {"key": "nvidia.com/gpu.replicas", "operator": "Gt", "values": ["1"]},
    {"key": "nvidia.com/gpu.replicas", "operator": "Lt", "values": ["2"]},
    {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-A100", "Tesla-T4-SHARED"]},
)


def varied(random: Random, name: str) -> Object:
    """A pod that the API server may accept, with more of what the policies read."""
    made = generated(random, name)
    spec: dict[str, Any] = made["spec"]
    if random.random() < 0.4:
        spec["volumes"] = spec.get("volumes", []) + random.sample(_VOLUMES, k=random.choice((1, 2)))
        spec["volumes"] = list({one["name"]: one for one in spec["volumes"]}.values())
        _mount(random, spec)
    if random.random() < 0.4:
        keys = random.sample(sorted(_ANNOTATIONS), k=random.choice((1, 2, 3)))
        known = made["metadata"].get("annotations", {})
        made = annotated(made, **known, **{key: random.choice(_ANNOTATIONS[key]) for key in keys if key not in known})
    if random.random() < 0.3:
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _terms(random)}}
    if random.random() < 0.05:
        spec["os"] = {"name": "windows"}
        spec.pop("hostIPC", None)
        spec.pop("securityContext", None)
    return made


def _mount(random: Random, spec: dict[str, Any]) -> None:
    for one in spec["containers"]:
        if random.random() < 0.5:
            volume = random.choice(spec["volumes"])["name"]
            one["volumeMounts"] = [{"name": volume, "mountPath": random.choice(_MOUNT_PATHS)}]


def _terms(random: Random) -> Object:
    terms = [random.sample(_TERMS, k=random.choice((1, 2))) for _ in range(random.choice((1, 2)))]
    return {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
