"""The webhook in a real cluster, end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.manifests import GPU, PIPE, container, deployment, pod

if TYPE_CHECKING:
    from tests.cluster.harness.workspace import Workspace

pytestmark = pytest.mark.usefixtures("installed_webhook")
TWO = 'GPS001 container "main" asks for 2 of "nvidia.com/gpu"; the limit is 1 where it is shared through MPS'


def test_pod_with_one_gpu_is_mutated_and_runs(space: Workspace) -> None:
    running = space.start(pod("one"))
    spec = running["spec"]
    assert spec["runtimeClassName"] == "nvidia"
    assert {"key": GPU, "operator": "Exists", "effect": "NoSchedule"} in spec["tolerations"]
    assert {"name": "CUDA_MPS_PIPE_DIRECTORY", "value": PIPE} in spec["containers"][0]["env"]
    assert space.environment("one").count(f"CUDA_MPS_PIPE_DIRECTORY={PIPE}") == 1
    lower, upper = space.mounts("one", PIPE)
    assert lower.root == upper.root == f"/nvidia{PIPE}"


def test_pod_with_two_gpus_is_rejected_with_remedy(space: Workspace) -> None:
    with pytest.raises(ApiError) as refused:
        space.api.create(space.pods, pod("two", container(gpus=2)))
    assert (refused.value.code, refused.value.reason) == (403, "Forbidden")
    assert TWO in refused.value.message
    (cause,) = refused.value.status["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("GPS001", f'spec.containers[0].resources.limits["{GPU}"]')


def test_deployment_with_two_gpus_is_rejected_at_apply(space: Workspace) -> None:
    with pytest.raises(RuntimeError) as refused:
        space.kubectl("apply", "-f", "-", manifest=deployment("storm", container(gpus=2)))
    assert TWO in str(refused.value)
    assert space.api.items(space.pods) == []


def test_pod_without_gpu_is_not_mutated(space: Workspace) -> None:
    made = space.api.create(space.pods, pod("plain", container(gpus=0)))
    assert "runtimeClassName" not in made["spec"]
    assert "env" not in made["spec"]["containers"][0]
