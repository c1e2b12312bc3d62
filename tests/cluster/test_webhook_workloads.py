"""Workloads of every kind, and objects at the size limit, are mutated, or rejected with the remedy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.manifests import container
from tests.cluster.workloads import KINDS, assert_completed, make_due, pod_of_workload, workload
from tests.remedies import ASK_FOR_ONE, ASK_FOR_ONE_IN_TEMPLATE

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object
    from tests.cluster.harness.workspace import Workspace


pytestmark = pytest.mark.usefixtures("installed_webhook")
OVER = 'GPS001 container "main" asks for 2 of "nvidia.com/gpu"; the limit is 1 where it is shared through MPS; '
HOOKS = {"Pod": "pods.mutate", "CronJob": "job-templates.validate", "PodTemplate": "pod-templates.validate"}


@pytest.mark.parametrize("kind", ["Pod", *KINDS])
def test_workload_pod_is_mutated_and_runs(space: Workspace, kind: str) -> None:
    stored = space.create(workload(kind))
    if kind == "CronJob":
        make_due(space)
    if kind != "Pod":
        assert "CUDA_MPS" not in str(stored), "the author's template stays as it is"
    assert_completed(pod_of_workload(space))


@pytest.mark.parametrize("kind", ["Pod", *KINDS, "PodTemplate"])
def test_workload_over_limit_is_rejected_at_apply(space: Workspace, kind: str) -> None:
    done = space.run("apply", "-f", "-", manifest=workload(kind, container(gpus=2)))
    hook = f"{HOOKS.get(kind, 'templates.validate')}.gpushare-webhook.io"
    remedy = ASK_FOR_ONE if kind == "Pod" else ASK_FOR_ONE_IN_TEMPLATE
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        'Error from server (Forbidden): error when creating "STDIN": '
        f'admission webhook "{hook}" denied the request: {OVER}{remedy}\n'
        "gpushare-webhook explain GPS001\n"
    )
    assert "NotFound" in space.run("get", kind, "main").stderr
    assert space.api.items(space.pods) == []


def test_rejected_template_update_leaves_workload_unchanged(space: Workspace) -> None:
    space.create(workload("Deployment"))
    before = pod_of_workload(space)
    done = space.run("apply", "-f", "-", manifest=workload("Deployment", container(gpus=2)))
    assert f"denied the request: {OVER}{ASK_FOR_ONE_IN_TEMPLATE}\n" in done.stderr
    assert space.stored("Deployment", "main")["metadata"]["generation"] == 1
    assert space.stored("Pod", before["metadata"]["name"])["metadata"]["uid"] == before["metadata"]["uid"]


# The size limits of a request to the API server and of an object in etcd.
REQUEST = 3 * 2**20
STORED = 1_500_000


def _large(kind: str, size: int, variables: int = 1, *, gpus: int = 1, letter: str = "x") -> Object:
    """An object whose JSON has at most `size` bytes, in `count` environment variables."""

    def made(each: int) -> Object:
        entries = [{"name": f"V{index}", "value": letter * each} for index in range(variables)]
        return workload(kind, container(gpus=gpus, env=entries))

    return made((size - _size(made(0))) // variables)


def _size(manifest: Object) -> int:
    return len(json.dumps(manifest))


def _collection(space: Workspace, kind: str) -> str:
    return space.pods if kind == "Pod" else f"/apis/apps/v1/namespaces/{space.name}/deployments"


def _try(space: Workspace, manifest: Object) -> Object:
    """Create it without storing it: the limit of etcd is half that of the API server."""
    return space.api.create(_collection(space, manifest["kind"]) + "?dryRun=All", manifest)


@pytest.mark.parametrize("variables", [1, 10_000], ids=["one-value", "many-values"])
def test_object_below_request_limit_is_checked(space: Workspace, variables: int) -> None:
    large = _large("Deployment", REQUEST, variables, gpus=2)
    assert REQUEST - 10_000 < _size(large) <= REQUEST
    with pytest.raises(ApiError, match="denied the request: GPS001 "):
        _try(space, large)


def test_object_above_request_limit_does_not_reach_webhook(space: Workspace) -> None:
    with pytest.raises(ApiError, match="limit is 3145728") as refused:
        _try(space, _large("Pod", REQUEST + 1000))
    assert refused.value.code == 413


def test_update_of_object_near_storage_limit_is_checked(space: Workspace) -> None:
    path = f"{_collection(space, 'Deployment')}/main"
    large = _large("Deployment", STORED)
    large["spec"]["replicas"] = 0
    space.api.create(_collection(space, "Deployment"), large)
    raised = json.loads(json.dumps(large))
    raised["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": 2}
    with pytest.raises(ApiError, match="denied the request: GPS001 "):
        space.api.call("PUT", path, raised)
    large["spec"]["template"]["spec"]["containers"][0]["env"].append({"name": "MORE", "value": "1"})
    assert space.api.call("PUT", path, large)["metadata"]["generation"] == 2


def test_escaped_object_below_request_limit_is_checked(space: Workspace) -> None:
    """The API server writes `<` as six characters in a review, which then has 18 MiB."""
    assert_completed(_try(space, _large("Pod", REQUEST, letter="<")))
    with pytest.raises(ApiError, match="denied the request: GPS001 "):
        _try(space, _large("Deployment", REQUEST, gpus=2, letter="<"))
