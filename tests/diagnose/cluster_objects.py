"""Objects of a cluster as the API server returns them, in the fields that the questions read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.policy.placement.cluster_objects import Node, Taint

Object = dict[str, Any]

GPU = "nvidia.com/gpu"


def container(name: str = "main", amount: int | str = 1, resource: str = GPU, **fields: Any) -> Object:
    """A container; without a GPU for the amount 0."""
    resources = {"resources": {"limits": {resource: str(amount)}}} if amount else {}
    return {"name": name, "image": "registry.example.test/train:1", **resources, **fields}


def pod(name: str, *containers: Object, namespace: str = "team-a", node: str = "", **fields: Any) -> Object:
    """A pod. `status` and `spec` are merged into its own; `owner` is the kind and the name of its controller."""
    metadata: Object = {"namespace": namespace, "name": name, "uid": f"uid-{name}"}
    if "owner" in fields:
        kind, owner = fields["owner"]
        metadata["ownerReferences"] = [{"kind": kind, "name": owner, "controller": True}]
    spec = {"containers": list(containers or (container(),)), **fields.get("spec", {})}
    if node:
        spec["nodeName"] = node
    status = {"phase": "Running" if node else "Pending", **fields.get("status", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def mps_node(name: str, replicas: int = 4, *taints: Taint, labels: Mapping[str, str] | None = None) -> Node:
    """A node with one card of 40 GiB that MPS shares."""
    known = {
        "nvidia.com/mps.capable": "true",
        "nvidia.com/gpu.sharing-strategy": "mps",
        "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/gpu.memory": "40960",
        "nvidia.com/gpu.count": "1",
    }
    return Node(name, {**known, **(labels or {})}, taints, {GPU: replicas})
