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

_POOLS = {"roomy": 32, "held": HELD, "cordoned": 4, "lost": 4, "tainted": 4}


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
        cluster.kubectl("cordon", "cordoned")
        yield


def lose(cluster: Cluster, name: str) -> None:
    """Let a node stop reporting, and wait until the node controller has put the taint that belongs to it."""
    path = f"/api/v1/nodes/{name}"
    ready = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }
    cluster.api.patch(f"{path}/status", {"status": {"conditions": [ready]}}, form="strategic")
    key = "node.kubernetes.io/unreachable"

    def is_tainted(node: Object) -> bool:
        return any(taint["key"] == key for taint in node["spec"].get("taints", ()))

    cluster.api.wait_for(path, f"to have the taint {key}", is_tainted)
