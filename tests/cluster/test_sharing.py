"""Other ways of the device plugin to offer a GPU, each on the same node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.harness.manifests import SHARED, container, pod
from tests.cluster.harness.options import mps, time_slicing, whole
from tests.cluster.harness.workspace import workspace

if TYPE_CHECKING:
    from tests.cluster.harness.cluster import Cluster


def test_renamed_resource_has_its_own_pipe_directory(cluster: Cluster) -> None:
    with cluster.node.sharing(mps(rename=True)), workspace(cluster, "renamed") as space:
        space.start(pod("one", container(resource=SHARED)))
        assert f"CUDA_MPS_PIPE_DIRECTORY=/mps/{SHARED}/pipe" in space.environment("one")
        (pipe,) = space.mounts("one", f"/mps/{SHARED}/pipe")
        assert pipe.root == f"/nvidia/mps/{SHARED}/pipe"


def test_time_sliced_gpu_is_offered_without_mps(cluster: Cluster) -> None:
    with cluster.node.sharing(time_slicing()), workspace(cluster, "sliced") as space:
        space.start(pod("one"))
        assert not [entry for entry in space.environment("one") if entry.startswith("CUDA_MPS")]
        assert space.mounts("one", "/mps/nvidia.com/gpu/pipe") == []


def test_time_slicing_grants_two_replicas(cluster: Cluster) -> None:
    with cluster.node.sharing(time_slicing(4)), workspace(cluster, "sliced-two") as space:
        space.start(pod("two", container(gpus=2)))


def test_whole_gpu_is_offered_once(cluster: Cluster) -> None:
    with cluster.node.sharing(whole()), workspace(cluster, "whole") as space:
        space.start(pod("one"))
        space.api.create(space.pods, pod("another"))
        event = space.wait_event("another", "FailedScheduling")
        assert "Insufficient nvidia.com/gpu" in event["message"]


def test_mps_grants_one_replica_to_each_of_two_containers(cluster: Cluster) -> None:
    with workspace(cluster, "one-and-one") as space:
        space.start(pod("both", container("main"), container("second")))
        for name in ("main", "second"):
            assert "CUDA_MPS_PIPE_DIRECTORY=/mps/nvidia.com/gpu/pipe" in space.environment("both", container=name)
