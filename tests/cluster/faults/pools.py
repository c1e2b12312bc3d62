"""The nodes of the cluster of faults: one that runs pods, and others that are objects alone, each in a pool."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from tests.cluster.harness.node_objects import node_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

GPUS = 4
REPLICAS = 10
"""The node that runs pods has so many cards, each of which is shared as so many replicas."""

HELD = 2
RESEARCH = {"key": "team", "value": "research", "effect": "NoSchedule"}
_LAST = {"key": "object", "effect": "PreferNoSchedule"}
"""Pods that name no pool go to the node that runs them."""

_POOLS = {"roomy": 32, "held": HELD, "crowded": 4, "cordoned": 4, "not-ready": 4, "lost": 4, "tainted": 4}


def pool(name: str) -> dict[str, Any]:
    """The part of a pod's spec that selects the nodes of a pool."""
    return {"nodeSelector": {"pool": name}}


@contextmanager
def pools(cluster: Cluster) -> Iterator[None]:
    """Add the nodes that are objects alone; see `node_object`."""
    with ExitStack() as nodes:
        for name, gpus in _POOLS.items():
            taints = (_LAST, RESEARCH) if name == "tainted" else (_LAST,)
            labels = {"pool": name, "kubernetes.io/hostname": name}
            nodes.enter_context(node_object(cluster, name, labels, gpus=gpus, taints=taints))
        room = {"allocatable": {"pods": "1"}}
        cluster.api.patch("/api/v1/nodes/crowded/status", {"status": room})
        cluster.kubectl("cordon", "cordoned")
        set_ready(cluster, "not-ready", "False")
        yield


def set_ready(cluster: Cluster, name: str, status: str) -> None:
    """Set the condition Ready of a node, and wait until the node controller has put the taint that belongs to it."""
    path = f"/api/v1/nodes/{name}"
    reasons = {"False": "KubeletNotReady", "Unknown": "NodeStatusUnknown"}
    messages = {"False": "container runtime is down", "Unknown": "Kubelet stopped posting node status."}
    ready = {"type": "Ready", "status": status, "reason": reasons[status], "message": messages[status]}
    cluster.api.patch(f"{path}/status", {"status": {"conditions": [ready]}}, form="strategic")
    key = {"False": "node.kubernetes.io/not-ready", "Unknown": "node.kubernetes.io/unreachable"}[status]

    def is_tainted(node: Object) -> bool:
        return any(taint["key"] == key for taint in node["spec"].get("taints", ()))

    cluster.api.wait_for(path, f"to have the taint {key}", is_tainted)
