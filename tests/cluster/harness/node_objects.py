"""Nodes without a kubelet: the scheduler binds pods to them, and no container starts."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.cluster.harness.manifests import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

NO_TAINTS: tuple[Object, ...] = ()


@contextmanager
def node_object(
    cluster: ControlPlaneOnly, name: str, labels: dict[str, str], *, gpus: int, taints: tuple[Object, ...] = NO_TAINTS
) -> Iterator[str]:
    """A node that is ready and offers `gpus` of `nvidia.com/gpu`; deleted at the end with the pods bound to it.

    Yields its name.
    """
    path = f"/api/v1/nodes/{name}"
    cluster.api.create(
        "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "spec": {"taints": list(taints)}}
    )
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    room = {"cpu": "8", "memory": "8Gi", "pods": "100", GPU: str(gpus)}
    ready = {"type": "Ready", "status": "True", "reason": "Test", "lastHeartbeatTime": now, "lastTransitionTime": now}
    cluster.api.patch(f"{path}/status", {"status": {"capacity": room, "allocatable": room, "conditions": [ready]}})
    # The controller manager removes its own taint as soon as it finds the node ready.
    cluster.api.wait_for(path, "to be found ready", lambda node: node["spec"].get("taints", []) == list(taints))
    try:
        yield name
    finally:
        for bound in cluster.api.items(f"/api/v1/pods?fieldSelector=spec.nodeName={name}"):
            metadata = bound["metadata"]
            at = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            cluster.api.delete(f"{at}?gracePeriodSeconds=0")  # no kubelet ends it
        cluster.api.delete(path)
