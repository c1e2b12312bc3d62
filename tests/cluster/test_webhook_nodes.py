"""Nodes that offer GPUs in different ways: each pod is bound to a suitable node and starts there.

One node is real, with kubelet, containers and the device plugin; the others are objects that pods are bound to. Each
kind of node takes its turn to be the real one.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.manifests import GPU, SHARED, STRATEGY, container, deployment, pod
from tests.cluster.harness.node_objects import node_object
from tests.cluster.harness.options import mps, time_slicing, whole
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.workspace import workspace
from tests.cluster.workloads import assert_completed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

PLUGINS = {"mps": mps(), "time-slicing": time_slicing(), "none": whole()}
# As GPU feature discovery labels them.
LABELS = {
    "mps": {STRATEGY: "mps", "nvidia.com/mps.capable": "true", "nvidia.com/gpu.replicas": "10"},
    "time-slicing": {STRATEGY: "time-slicing", "nvidia.com/mps.capable": "false", "nvidia.com/gpu.replicas": "10"},
    "none": {STRATEGY: "none", "nvidia.com/mps.capable": "false", "nvidia.com/gpu.replicas": "1"},
}
pytestmark = pytest.mark.usefixtures("installed_webhook")
GPU_NODE = {"key": GPU, "value": "present", "effect": "NoSchedule"}


def _node_object(cluster: Cluster, strategy: str) -> AbstractContextManager[str]:
    gpus = 2 if strategy == "none" else 10
    return node_object(cluster, f"object-{strategy}", LABELS[strategy], gpus=gpus, taints=(GPU_NODE,))


@contextmanager
def _side_by_side(cluster: Cluster, real: str) -> Iterator[dict[str, str]]:
    """A node of each kind, by its sharing strategy."""
    first, second = (strategy for strategy in LABELS if strategy != real)
    with (
        cluster.node.sharing(PLUGINS[real]),
        cluster.node.marked(LABELS[real], GPU_NODE),
        _node_object(cluster, first) as one,
        _node_object(cluster, second) as other,
    ):
        yield {real: NODE, first: one, second: other}


def _on(strategy: str, *, gpus: int = 1) -> Object:
    return pod(f"on-{strategy}", container(gpus=gpus), nodeSelector={STRATEGY: strategy})


def _mps_parts(stored: Object) -> list[Any]:
    """What only a pod for an MPS node needs."""
    parts = [*stored["spec"]["volumes"], *stored["spec"]["containers"][0].get("env", ())]
    return [part for part in parts if "mps" in str(part).lower()]


@pytest.mark.parametrize("real", list(LABELS))
def test_each_pod_runs_on_expected_node(cluster: Cluster, real: str) -> None:
    with workspace(cluster, f"real-{real}") as space, _side_by_side(cluster, real) as nodes:
        for strategy, node in nodes.items():
            space.api.create(space.pods, _on(strategy))
            bound = space.wait_bound(f"on-{strategy}")
            assert bound["spec"]["nodeName"] == node
            assert bound["spec"]["runtimeClassName"] == "nvidia"
            assert bool(_mps_parts(bound)) == (strategy == "mps")
        space.wait_running(f"on-{real}")
        space.kubectl("delete", "pod", f"on-{real}")  # a whole GPU is offered once
        # This pod has no hint about its node: it gets the parts for MPS, and starts on any node.
        assert_completed(space.start(pod("anywhere", nodeSelector={"kubernetes.io/hostname": NODE})))
        assert space.api.items(f"/api/v1/namespaces/{space.name}/events?fieldSelector=reason=FailedMount") == []


def test_node_without_mps_grants_two_gpus(cluster: Cluster) -> None:
    with workspace(cluster, "two") as space, _side_by_side(cluster, "time-slicing") as nodes:
        running = space.start(_on("time-slicing", gpus=2))
        assert running["spec"]["nodeName"] == nodes["time-slicing"] == NODE
        space.api.create(space.pods, _on("none", gpus=2))
        bound = space.wait_bound("on-none")
        assert bound["spec"]["nodeName"] == nodes["none"]
        for refused in (_on("mps", gpus=2), pod("anywhere", container(gpus=2))):
            with pytest.raises(ApiError, match="denied the request: GPS001 "):
                space.api.create(space.pods, refused)


def test_pod_without_injected_toleration_stays_pending(cluster: Cluster) -> None:
    with workspace(cluster, "taint") as space, cluster.node.marked({}, GPU_NODE):
        space.api.create(space.pods, pod("plain", container(gpus=0)))
        assert "untolerated taint" in space.wait_event("plain", "FailedScheduling")["message"]
        assert_completed(space.start(pod("main")))


def test_renamed_resource_pod_is_mutated_and_runs(cluster: Cluster) -> None:
    asks = container(resource=SHARED)
    taints = (GPU_NODE, {"key": SHARED, "effect": "NoSchedule"})
    with (
        cluster.node.sharing(mps(rename=True)),
        workspace(cluster, "renamed") as space,
        cluster.node.marked(LABELS["mps"], *taints),
    ):
        space.kubectl("apply", "-f", "-", manifest=deployment("main", asks))
        (made,) = wait_for("a pod", lambda: space.api.items(space.pods))
        name = made["metadata"]["name"]
        assert_completed(space.wait_running(name), resource=SHARED)
        variables = [entry for entry in space.environment(name) if entry.startswith("CUDA_MPS")]
        assert variables == [f"CUDA_MPS_PIPE_DIRECTORY=/mps/{SHARED}/pipe"]
        roots = [mount.root for mount in space.mounts(name, f"/mps/{SHARED}/pipe")]
        assert roots == [f"/nvidia/mps/{SHARED}/pipe"] * 2


def test_renamed_resource_over_limit_is_rejected_with_its_remedy(cluster: Cluster) -> None:
    with workspace(cluster, "renamed-two") as space:
        asks = deployment("main", container(gpus=2, resource=SHARED))
        done = space.run("apply", "-f", "-", manifest=asks)
        assert done.stderr.endswith(
            f'denied the request: GPS001 container "main" asks for 2 of "{SHARED}"; '
            "the limit is 1 where it is shared through MPS; ask for 1\ngpushare-webhook explain GPS001\n"
        )
        assert space.api.items(space.pods) == []
