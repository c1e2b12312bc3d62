"""Objects at the size limit of the API server, also when their reviews are six times as large."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.manifests import container
from tests.cluster.harness.webhook import webhook
from tests.cluster.workloads import assert_completed, workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

# The size limits of a request to the API server and of an object in etcd.
REQUEST = 3 * 2**20
STORED = 1_500_000
# How many variables the bytes of an object are in.
VARIABLES = pytest.mark.parametrize("variables", [1, 10_000], ids=["one-value", "many-values"])


@pytest.fixture(scope="module", autouse=True)
def installed(cluster: Cluster) -> Iterator[None]:
    with webhook(cluster):
        yield


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


@VARIABLES
def test_pod_below_request_limit_is_mutated(space: Workspace, variables: int) -> None:
    large = _large("Pod", REQUEST, variables)
    assert REQUEST - 10_000 < _size(large) <= REQUEST
    made = _try(space, large)
    assert len(made["spec"]["containers"][0]["env"]) == variables + 1
    assert_completed(made)


@VARIABLES
@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_object_below_request_limit_is_checked(space: Workspace, kind: str, variables: int) -> None:
    with pytest.raises(ApiError, match="denied the request: GPS001 "):
        _try(space, _large(kind, REQUEST, variables, gpus=2))


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
