"""The forms of a request by which a tenant tries to get around the checks: the chart's hooks on a real API server.

`docs/explanation/bypass.md` lists each attempt with its result.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.chart_hooks import TWO, chart_hooks
from tests.cluster.harness.custom_kinds import open_kind
from tests.cluster.harness.manifests import GPU, container, deployment, pod, pod_spec
from tests.cluster.harness.waiting import wait_for
from tests.cluster.workloads import holding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

pytestmark = pytest.mark.usefixtures("clean")

DEFAULT = "/api/v1/namespaces/default"
PODS = f"{DEFAULT}/pods"
APPS = "/apis/apps/v1/namespaces/default"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def holder(kind: str, name: str) -> Object:
    """A workload over the limit whose controller creates no pod yet."""
    manifest = holding(kind, pod_spec(container(gpus=2)), name)
    return {**manifest, "spec": manifest["spec"] | ({"suspend": True} if kind == "Job" else {"replicas": 0})}


COLLECTIONS = {
    "Deployment": f"{APPS}/deployments",
    "ReplicaSet": f"{APPS}/replicasets",
    "StatefulSet": f"{APPS}/statefulsets",
    "Job": JOBS,
}


@pytest.fixture(scope="module", autouse=True)
def _hooks(running: ControlPlaneOnly) -> Iterator[None]:
    """The chart's hooks, and workloads over the limit that are older and have no pods yet."""
    for kind, path in COLLECTIONS.items():
        running.api.create(path, holder(kind, "older"))
    with chart_hooks(running):
        yield


def send(running: ControlPlaneOnly, method: str, path: str, text: str, content: str = "application/json") -> Object:
    """The answer to a request with any body. Raises ApiError for a status above 299."""
    return running.api.send(method, path, text, {"Content-Type": content})


@pytest.mark.parametrize("kind", COLLECTIONS)
def test_pods_of_older_workload_are_rejected(running: ControlPlaneOnly, kind: str) -> None:
    change = {"suspend": False} if kind == "Job" else {"replicas": 1}
    running.api.patch(f"{COLLECTIONS[kind]}/older", {"spec": change})
    of = "ReplicaSet" if kind == "Deployment" else kind
    events = f"{DEFAULT}/events?fieldSelector=involvedObject.kind={of},reason=FailedCreate"
    wait_for("the controller's failure", lambda: any(TWO in event["message"] for event in running.api.items(events)))
    assert running.api.items(f"{PODS}?labelSelector=app=main") == []
    running.api.delete(f"{COLLECTIONS[kind]}/older?propagationPolicy=Background")


AMOUNTS = {"limits": {GPU: 2}, "requests": {GPU: 2}}
RESOURCES = "/spec/template/spec/containers/0/resources"
TO_TWO: dict[str, Object | list[Object]] = {
    "json": [{"op": "replace", "path": RESOURCES, "value": AMOUNTS}],
    "merge": {"spec": {"template": {"spec": {"containers": [container(gpus=2)]}}}},
    "strategic": {"spec": {"template": {"spec": {"containers": [{"name": "main", "resources": AMOUNTS}]}}}},
    "apply": deployment("patched", container(gpus=2)),
}


@pytest.mark.parametrize("form", TO_TWO)
def test_patch_of_template_to_two_is_rejected(running: ControlPlaneOnly, form: str) -> None:
    path = f"{APPS}/deployments/patched"
    running.api.create(f"{APPS}/deployments", deployment("patched", replicas=0))
    query = "?fieldManager=tenant&force=true" if form == "apply" else ""
    with pytest.raises(ApiError) as rejected:
        running.api.patch(f"{path}{query}", TO_TWO[form], form=form)
    assert TWO in rejected.value.message
    running.api.delete(path)


def test_replaced_template_is_rejected(running: ControlPlaneOnly) -> None:
    path = f"{APPS}/deployments/put"
    stored = running.api.create(f"{APPS}/deployments", deployment("put", replicas=0))
    del stored["metadata"]["resourceVersion"]
    stored["spec"]["template"]["spec"]["containers"][0]["resources"] = AMOUNTS
    with pytest.raises(ApiError, match="GPS001"):
        running.api.call("PUT", path, stored)
    running.api.delete(path)


def test_server_side_apply_creates_no_pod_over_limit(running: ControlPlaneOnly) -> None:
    with pytest.raises(ApiError) as rejected:
        running.api.patch(f"{PODS}/two?fieldManager=tenant&force=true", pod("two", container(gpus=2)), form="apply")
    assert TWO in rejected.value.message


def test_forced_replacement_is_rejected(running: ControlPlaneOnly) -> None:
    running.api.create(PODS, pod("replaced"))
    manifest = running.place.folder / "two.json"
    manifest.write_text(json.dumps(pod("replaced", container(gpus=2))))
    done = running.kubectl.run("replace", "--force", "--grace-period=0", "--validate=false", f"-f={manifest}")
    assert done.returncode
    assert TWO in done.stderr
    assert running.api.find(f"{PODS}/replaced") is None, "kubectl deletes the pod before it creates the other"


def test_yaml_body_is_rejected(running: ControlPlaneOnly) -> None:
    text = json.dumps(pod("two", container(gpus=2)), indent=1)
    with pytest.raises(ApiError) as rejected:
        send(running, "POST", PODS, f"---\n# a comment\n{text}\n", "application/yaml")
    assert TWO in rejected.value.message


def twice(first: str, second: str) -> str:
    """A pod whose limit is written twice."""
    text = json.dumps(pod("twice", container(gpus=7)))
    once = f'"{GPU}": 7'
    assert text.count(once) == 1
    return text.replace(once, f'"{GPU}": {first}, "{GPU}": {second}')


@pytest.mark.parametrize("content", ["application/json", "application/yaml"])
def test_repeated_key_is_checked_as_it_is_stored(running: ControlPlaneOnly, content: str) -> None:
    with pytest.raises(ApiError) as rejected:
        send(running, "POST", f"{PODS}?fieldValidation=Ignore", twice("1", "2"), content)
    assert TWO in rejected.value.message
    stored = send(running, "POST", f"{PODS}?fieldValidation=Ignore", twice("2", "1"), content)
    assert stored["spec"]["containers"][0]["resources"]["limits"] == {GPU: "1"}
    with pytest.raises(ApiError, match=r"duplicate|already set"):
        send(running, "POST", f"{PODS}?fieldValidation=Strict", twice("2", "1"), content)


def test_member_in_other_case_is_not_read(running: ControlPlaneOnly) -> None:
    """The API server's decoder distinguishes case: `Limits` is an unknown member, which it drops."""
    text = json.dumps(pod("case", container(resources={"Limits": {GPU: 2}})))
    stored = send(running, "POST", f"{PODS}?fieldValidation=Ignore", text)
    assert stored["spec"]["containers"][0]["resources"] == {}


@pytest.mark.parametrize("subresource", ["resize", "ephemeralcontainers"])
def test_subresource_removes_no_gate(running: ControlPlaneOnly, subresource: str) -> None:
    running.api.create(PODS, pod("gated", container(gpus=2), schedulingGates=[{"name": "example.com/queue"}]))
    body = {"spec": {"schedulingGates": None}}
    running.api.request("PATCH", f"{PODS}/gated/{subresource}", body, content="strategic-merge-patch+json")
    assert running.api.get(f"{PODS}/gated")["spec"]["schedulingGates"] == [{"name": "example.com/queue"}]


def test_custom_object_passes_and_its_pod_is_rejected(running: ControlPlaneOnly) -> None:
    """An operator copies the template of a custom object into pods, as this test does."""
    body = {"metadata": {"name": "own"}, "spec": {"template": {"spec": pod_spec(container(gpus=2))}}}
    body |= {"apiVersion": "example.com/v1", "kind": "Training"}
    with open_kind(running.api, "example.com/v1", "Training", "default") as trainings:
        stored = running.api.create(trainings, body)
        with pytest.raises(ApiError) as rejected:
            running.api.create(PODS, pod("own", *stored["spec"]["template"]["spec"]["containers"]))
        assert TWO in rejected.value.message
