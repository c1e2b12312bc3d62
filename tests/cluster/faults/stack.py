"""The node side as the chart of NVIDIA's device plugin installs it: DaemonSets of the plugin, discovery and MPS.

Names, labels, selectors and containers are those of the chart (NVIDIA/k8s-device-plugin, deployments/helm,
daemonset-*.yml). The pods only wait: the real plugin of the cluster runs beside them, as a process of the node.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.cluster.harness import busybox
from tests.cluster.harness.manifests import CAPABLE, CLASSES, CONFIG, STRATEGY
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

NAMESPACE = "nvidia-device-plugin"
PLUGIN = "nvidia-device-plugin"
DAEMON = f"{PLUGIN}-mps-control-daemon"
DISCOVERY = f"{PLUGIN}-gpu-feature-discovery"
CONFIGS = f"{PLUGIN}-configs"
IMAGE = "nvidia/k8s-device-plugin:v0.19.3"
PRESENT = "nvidia.com/gpu.present"
DAEMON_SETS = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"

_LABELS = {"app.kubernetes.io/name": PLUGIN, "app.kubernetes.io/instance": PLUGIN}
_GPU_NODES = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": PRESENT, "operator": "In", "values": ["true"]}]}]
        }
    }
}
_TOLERATIONS = [
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
]
# Readiness follows a file, so that a fault can make the pod unready and ready again.
_WAITS = ["sh", "-c", "touch /tmp/ready; trap 'exit 0' TERM; sleep 2147483647 & wait"]
_PROBE = {"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1, "failureThreshold": 1}  # noqa: S108


def discovered(replicas: int, gpus: int = 1, strategy: str = "mps") -> dict[str, str]:
    """The labels of GPU feature discovery on a node with A100 cards, and the one that NFD adds."""
    shared = "" if strategy == "none" else "-SHARED"
    return {
        PRESENT: "true",
        STRATEGY: strategy,
        CAPABLE: str(strategy == "mps").lower(),
        "nvidia.com/gpu.count": str(gpus),
        "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/gpu.product": f"NVIDIA-A100-SXM4-40GB{shared}",
        "nvidia.com/gpu.memory": "40960",
        "nvidia.com/gpu.family": "ampere",
        "nvidia.com/gpu.compute.major": "8",
        "nvidia.com/gpu.compute.minor": "0",
        "nvidia.com/gfd.timestamp": "1700000000",
    }


def daemon_set(name: str, container: str, namespace: str = NAMESPACE, **spec: Any) -> Object:
    """A DaemonSet of the chart, with the container's name and further fields of the pod's spec."""
    volumes = [
        {"name": "available-configs", "configMap": {"name": CONFIGS}},
        {"name": "mps-root", "hostPath": {"path": "/run/nvidia/mps", "type": "DirectoryOrCreate"}},
    ]
    manager = {
        "name": container.removesuffix("-ctr") + "-init",
        "image": IMAGE,
        "command": ["true"],
        "env": [{"name": "NODE_LABEL", "value": CONFIG}, {"name": "DEFAULT_CONFIG", "value": "default"}],
        "volumeMounts": [{"name": "available-configs", "mountPath": "/available-configs"}],
    }
    main = {
        "name": container,
        "image": IMAGE,
        "command": _WAITS,
        "env": [{"name": "MPS_ROOT", "value": "/run/nvidia/mps"}, {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
        "readinessProbe": _PROBE,
        "volumeMounts": [{"name": "mps-root", "mountPath": "/mps"}],
    }
    pod = {
        "terminationGracePeriodSeconds": 1,
        "initContainers": [manager],
        "containers": [main],
        "volumes": volumes,
        "tolerations": _TOLERATIONS,
        **spec,
    }
    template = {"metadata": {"labels": _LABELS}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace, "labels": _LABELS},
        "spec": {"selector": {"matchLabels": _LABELS}, "template": template},
    }


def plugin() -> Object:
    """The DaemonSet of the device plugin."""
    return daemon_set(PLUGIN, "nvidia-device-plugin-ctr", affinity=_GPU_NODES)


def daemon() -> Object:
    """The DaemonSet of the MPS control daemon, which runs on nodes with the label that discovery adds."""
    return daemon_set(DAEMON, "mps-control-daemon-ctr", affinity=_GPU_NODES, nodeSelector={CAPABLE: "true"})


def discovery() -> Object:
    """The DaemonSet of GPU feature discovery."""
    return daemon_set(DISCOVERY, "gpu-feature-discovery-ctr", affinity=_GPU_NODES)


def config_map(**configs: Object) -> Object:
    """The ConfigMap of the plugin's configurations; JSON is YAML."""
    return {"metadata": {"name": CONFIGS}, "data": {name: json.dumps(one) for name, one in configs.items()}}


def install(cluster: Cluster, config: Object) -> None:
    """Install all three, and the runtime class, and wait until their pods are ready."""
    cluster.node.containers.tag(f"docker.io/{busybox.IMAGE}", f"docker.io/{IMAGE}")
    if cluster.api.find(f"{CLASSES}/nvidia") is None:
        cluster.api.create(CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"})
    cluster.api.create_namespace(NAMESPACE)
    cluster.api.create(CONFIG_MAPS, config_map(default=config))
    for one in (plugin(), daemon(), discovery()):
        cluster.api.create(DAEMON_SETS, one)
    for name in (PLUGIN, DAEMON, DISCOVERY):
        wait_ready(cluster, name)


def wait_ready(cluster: Cluster, name: str, count: int = 1) -> None:
    """Wait until this many pods of a DaemonSet are ready, and no more are wanted."""

    def is_ready(found: Object) -> bool:
        status = found.get("status", {})
        seen = status.get("observedGeneration") == found["metadata"]["generation"]
        return bool(seen and status.get("numberReady") == count == status.get("desiredNumberScheduled"))

    cluster.api.wait_for(f"{DAEMON_SETS}/{name}", f"to have {count} ready pods", is_ready)


def pods(cluster: Cluster, name: str) -> list[Object]:
    """The pods of a DaemonSet, which share their labels with those of the others."""
    found = cluster.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods")
    return [one for one in found if one["metadata"].get("ownerReferences", [{}])[0].get("name") == name]


@contextmanager
def without(cluster: Cluster, name: str) -> Iterator[None]:
    """A DaemonSet is gone for a while, with its pods."""
    with cluster.api.deleted(f"{DAEMON_SETS}/{name}"):
        wait_for(f"the pods of {name} to be gone", lambda: not pods(cluster, name))
        yield
    wait_ready(cluster, name)
