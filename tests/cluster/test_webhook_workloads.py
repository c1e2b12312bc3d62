"""Pods of every kind of workload are mutated and run; workloads over the limit are rejected with the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.manifests import container
from tests.cluster.harness.webhook import webhook
from tests.cluster.workloads import KINDS, assert_completed, make_due, pod_of_workload, workload
from tests.remedies import ASK_FOR_ONE, SPLIT_THE_POD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

TWO = (
    'GPS001 container "main" asks for 2 of "nvidia.com/gpu"; the limit is 1 where it is shared through MPS; '
    + ASK_FOR_ONE
)
ONE_AND_ONE = (
    "GPS002 the pod asks for 2 replicas as a whole; the limit is 1 where GPUs are shared through MPS; " + SPLIT_THE_POD
)
HOOKS = {"Pod": "pods.mutate", "CronJob": "job-templates.validate", "PodTemplate": "pod-templates.validate"}


@pytest.fixture(scope="module", autouse=True)
def installed(cluster: Cluster) -> Iterator[None]:
    with webhook(cluster):
        yield


@pytest.mark.parametrize("kind", ["Pod", *KINDS])
def test_workload_pod_is_mutated_and_runs(space: Workspace, kind: str) -> None:
    stored = space.create(workload(kind))
    if kind == "CronJob":
        make_due(space)
    if kind != "Pod":
        assert "CUDA_MPS" not in str(stored), "the author's template stays as it is"
    assert_completed(pod_of_workload(space))


def _refusal(space: Workspace, verb: str, kind: str, *gpus: int) -> str:
    """The message of kubectl for a workload with a container for each number of GPUs."""
    containers = [container("main" if index == 0 else f"c{index}", gpus=asked) for index, asked in enumerate(gpus)]
    done = space.cluster.kubectl.run("-n", space.name, verb, "-f", "-", manifest=workload(kind, *containers))
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


def _message(kind: str, finding: str) -> str:
    hook = f"{HOOKS.get(kind, 'templates.validate')}.gpushare-webhook.io"
    return (
        'Error from server (Forbidden): error when creating "STDIN": '
        f'admission webhook "{hook}" denied the request: {finding}\ngpushare-webhook explain {finding[:6]}\n'
    )


@pytest.mark.parametrize("kind", ["Pod", *KINDS, "PodTemplate"])
def test_workload_over_limit_is_rejected_at_apply(space: Workspace, kind: str) -> None:
    assert _refusal(space, "apply", kind, 2) == _message(kind, TWO)
    assert "NotFound" in space.cluster.kubectl.run("-n", space.name, "get", kind, "main").stderr
    assert space.api.items(space.pods) == []


def test_two_containers_with_one_gpu_each_are_rejected(space: Workspace) -> None:
    assert _refusal(space, "create", "Pod", 1, 1) == _message("Pod", ONE_AND_ONE)
    assert _refusal(space, "create", "Deployment", 1, 1) == _message("Deployment", ONE_AND_ONE)


def test_rejection_lists_every_finding(space: Workspace) -> None:
    assert _refusal(space, "create", "Deployment", 2, 1) == _message("Deployment", f"{TWO}\n{ONE_AND_ONE}")


def test_rejected_template_update_leaves_workload_unchanged(space: Workspace) -> None:
    space.create(workload("Deployment"))
    before = pod_of_workload(space)
    done = space.cluster.kubectl.run(
        "-n", space.name, "apply", "-f", "-", manifest=workload("Deployment", container(gpus=2))
    )
    assert f"denied the request: {TWO}\n" in done.stderr
    assert space.stored("Deployment", "main")["metadata"]["generation"] == 1
    assert space.stored("Pod", before["metadata"]["name"])["metadata"]["uid"] == before["metadata"]["uid"]
