"""The webhook unreachable, slow or broken: GPU pods follow the failure policy, and nothing else is affected."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.api import ApiError, Object
from tests.cluster.harness.cluster import ControlPlaneOnly
from tests.cluster.harness.hooks import DRY_POD, MUTATING, VALIDATING, hooks, is_mutated, namespace, rejection, remove
from tests.cluster.harness.manifests import DEPLOYMENTS, container, deployment, pod
from tests.cluster.harness.standin import Answer, StandIn, allow, stand_in

if TYPE_CHECKING:
    from collections.abc import Iterator

STRICT = "/api/v1/namespaces/strict"
FAILED = "failed calling webhook"
Broken = Callable[[ControlPlaneOnly], AbstractContextManager[Callable[[Object], Object]]]


@pytest.fixture(scope="module", autouse=True)
def _service(running: ControlPlaneOnly) -> Iterator[None]:
    """The product's Service exists and has no pods; a namespace is for Pod Security."""
    strict = {"pod-security.kubernetes.io/enforce": "baseline"}
    with namespace(running, product.NAME), namespace(running, "strict", **strict):
        running.api.create(f"/api/v1/namespaces/{product.NAME}/services", product.service())
        yield


def _without_endpoints(_: ControlPlaneOnly) -> AbstractContextManager[Callable[[Object], Object]]:
    return nullcontext(lambda entry: {"service": entry["clientConfig"]["service"]})


@contextmanager
def _refusing_connections(running: ControlPlaneOnly) -> Iterator[Callable[[Object], Object]]:
    with stand_in(running.place, allow) as gone:
        pass
    yield lambda _: gone.client_config()


@contextmanager
def _of_another_authority(running: ControlPlaneOnly) -> Iterator[Callable[[Object], Object]]:
    """A server in the webhook's place, which allows everything."""
    with stand_in(running.place, allow) as impostor, stand_in(running.place, allow) as trusted:
        yield lambda _: impostor.client_config() | {"caBundle": trusted.authority}


def _answering(answer: Callable[[Object], Answer]) -> Broken:
    @contextmanager
    def broken(running: ControlPlaneOnly) -> Iterator[Callable[[Object], Object]]:
        with stand_in(running.place, answer) as confused:
            yield lambda _: confused.client_config()

    return broken


@contextmanager
def _slow(running: ControlPlaneOnly) -> Iterator[Callable[[Object], Object]]:
    """Answer when the test has ended."""
    over = Event()

    def late(review: Object) -> Answer:
        over.wait(60)
        return allow(review)

    with stand_in(running.place, late) as sleeping:
        try:
            yield lambda _: sleeping.client_config()
        finally:
            over.set()


BROKEN: dict[str, tuple[Broken, str]] = {
    "no endpoints": (_without_endpoints, "no endpoints available for service"),
    "connection refused": (_refusing_connections, "connect: connection refused"),
    "another authority": (_of_another_authority, "x509: certificate signed by unknown authority"),
    "slow": (_slow, "context deadline exceeded"),
    "internal error": (_answering(lambda _: Answer(500, b"oops")), "oops"),
    "not JSON": (_answering(lambda _: Answer(200, b"<html>")), "couldn't get version/kind"),
    "another kind": (_answering(lambda _: Answer(200, b'{"apiVersion": "v1", "kind": "Pod"}')), 'no kind "Pod"'),
    "another uid": (_answering(lambda review: allow({**review, "request": {"uid": "x"}})), "expected response.uid"),
}


@contextmanager
def _broken(running: ControlPlaneOnly, how: str, *which: str) -> Iterator[str]:
    """Configurations of a webhook that is broken in one way; yields the API server's message."""
    broken, says = BROKEN[how]
    with (
        broken(running) as address,
        hooks(running, address, lambda: FAILED in rejection(running, pod("asks")), which=which, seconds=1),
    ):
        yield says


@pytest.mark.parametrize("how", BROKEN)
def test_failed_validating_webhook_rejects_only_gpu_pods(running: ControlPlaneOnly, how: str) -> None:
    with _broken(running, how, VALIDATING) as says:
        refusal = rejection(running, pod("asks"))
        assert FAILED in refusal
        assert says in refusal
        with pytest.raises(ApiError, match=FAILED):
            running.api.create(f"{DEPLOYMENTS}?dryRun=All", deployment("asks"))
        _others_unaffected(running)


@pytest.mark.parametrize("how", ["connection refused", "slow", "not JSON"])
def test_failed_mutating_webhook_is_ignored(running: ControlPlaneOnly, how: str) -> None:
    broken, _ = BROKEN[how]
    with (
        stand_in(running.place, allow) as neighbour,
        broken(running) as client_config,
        _in_force_with(running, neighbour, client_config),
    ):
        assert not is_mutated(running.api.create(DRY_POD, pod("asks")))
        _others_unaffected(running)


def test_invalid_patch_rejects_gpu_pods_despite_ignore(running: ControlPlaneOnly) -> None:
    operation = {"op": "add", "path": "/spec/absent/child", "value": 1}
    with (
        stand_in(running.place, lambda review: allow(review, operation)) as confused,
        hooks(
            running,
            lambda _: confused.client_config(),
            lambda: "doc is missing path" in rejection(running, pod("asks")),
            which=(MUTATING,),
        ),
    ):
        _others_unaffected(running)
    assert rejection(running, pod("asks")) == ""


@contextmanager
def _in_force_with(
    running: ControlPlaneOnly, neighbour: StandIn, client_config: Callable[[Object], Object]
) -> Iterator[None]:
    """The broken mutating hooks; a working one for strict namespaces tells when the configuration is in force."""

    def address(entry: Object) -> Object:
        works = entry["name"].startswith("pods-without-hostpath")
        return neighbour.client_config() if works else client_config(entry)

    def force() -> bool:
        running.api.create(f"{STRICT}/pods?dryRun=All", pod("asks"))
        return bool(neighbour.reviews)

    with hooks(running, address, force, which=(MUTATING,), seconds=1):
        yield


def _others_unaffected(running: ControlPlaneOnly) -> None:
    """Pods and workloads without GPUs, and other objects, are made, changed and deleted."""
    plain = container(gpus=0)
    pods, maps = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/configmaps"
    for path, manifest in (
        (pods, pod("plain", plain)),
        (DEPLOYMENTS, deployment("plain", plain, replicas=0)),
        (maps, {"metadata": {"name": "plain"}, "data": {"nvidia.com": "gpu"}}),
    ):
        running.api.create(path, manifest)
        running.api.patch(f"{path}/plain", {"metadata": {"labels": {"a": "b"}}})
        running.api.delete(f"{path}/plain")
    running.kubectl("wait", "--for=delete", "deployment/plain", "pod/plain", "--timeout=180s")


@pytest.fixture
def deployed(running: ControlPlaneOnly) -> Iterator[str]:
    """The path of a Deployment with two GPU pods, created before the webhook fails."""
    path = f"{DEPLOYMENTS}/trains"
    running.api.create(DEPLOYMENTS, deployment("trains", replicas=2))
    _wait_replicas(running, 2)
    yield path
    if running.api.find(path) is not None:
        running.api.delete(path)
    running.kubectl("wait", "--for=delete", "deployment/trains", "--timeout=180s")
    running.kubectl("wait", "--for=delete", "pod", "--selector=app=trains", "--timeout=180s")


def _wait_replicas(running: ControlPlaneOnly, count: int) -> Object:
    """The Deployment as soon as its status counts `count` pods."""
    return running.api.wait_for(
        f"{DEPLOYMENTS}/trains",
        f"to have {count} replicas",
        lambda now: (
            now["status"].get("replicas", 0) == count
            and now["status"]["observedGeneration"] == now["metadata"]["generation"]
        ),
    )


def test_gpu_workloads_can_be_scaled_and_labelled_during_outage(running: ControlPlaneOnly, deployed: str) -> None:
    with _broken(running, "connection refused", MUTATING, VALIDATING):
        running.kubectl("label", "deployment", "trains", "team=a")
        running.kubectl("scale", "deployment", "trains", "--replicas=1")
        _wait_replicas(running, 1)
        (pod_left,) = [one for one in _pods(running) if "deletionTimestamp" not in one["metadata"]]
        running.kubectl("label", "pod", pod_left["metadata"]["name"], "team=a")
        running.kubectl("rollout", "pause", "deployment/trains")
        running.kubectl("rollout", "resume", "deployment/trains")
        running.api.patch(f"{deployed}/status", {"metadata": {"annotations": {"seen": "yes"}}})
        assert _wait_replicas(running, 1)["metadata"]["labels"]["team"] == "a"


def test_deleted_configurations_let_scaled_workload_create_pods(running: ControlPlaneOnly, deployed: str) -> None:
    with _broken(running, "no endpoints", MUTATING, VALIDATING):
        running.kubectl("scale", "deployment", "trains", "--replicas=3")
        refused = running.api.wait_for(deployed, "to report the rejection", lambda now: FAILED in str(now["status"]))
        assert refused["status"]["replicas"] == 2
        remove(running, MUTATING, VALIDATING)
        _wait_replicas(running, 3)


def test_started_rollout_continues_during_outage(running: ControlPlaneOnly, deployed: str) -> None:
    running.kubectl("rollout", "pause", "deployment/trains")
    running.api.patch(deployed, {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}})
    sets = "/apis/apps/v1/namespaces/default/replicasets?labelSelector=app=trains"
    running.kubectl("rollout", "resume", "deployment/trains")
    running.api.wait_for(sets, "to be two", lambda found: len(found["items"]) == 2)
    with _broken(running, "connection refused", MUTATING, VALIDATING):
        running.kubectl("scale", "deployment", "trains", "--replicas=0")
        _wait_replicas(running, 0)
        assert [found["spec"]["replicas"] for found in running.api.items(sets)] == [0, 0]


def test_template_change_is_rejected_during_outage(running: ControlPlaneOnly, deployed: str) -> None:
    before = running.api.get(deployed)["spec"]["template"]
    command = ["rollout", "restart", "deployment/trains"]
    with _broken(running, "connection refused", MUTATING, VALIDATING):
        with pytest.raises(RuntimeError, match=FAILED):
            running.kubectl(*command)
        assert running.api.get(deployed)["spec"]["template"] == before
        remove(running, MUTATING, VALIDATING)
        running.kubectl(*command)
        assert running.api.get(deployed)["spec"]["template"] != before


def test_gpu_workloads_can_be_deleted_during_outage(running: ControlPlaneOnly, deployed: str) -> None:
    with _broken(running, "connection refused", MUTATING, VALIDATING):
        running.kubectl("delete", "deployment", "trains", "--cascade=orphan", "--timeout=180s")
        assert running.api.find(deployed) is None
        assert len(_pods(running)) == 2
        running.kubectl("delete", "replicaset", "--selector=app=trains", "--cascade=foreground", "--timeout=180s")
        running.kubectl("wait", "--for=delete", "pod", "--selector=app=trains", "--timeout=180s")
        assert _pods(running) == []


def _pods(running: ControlPlaneOnly) -> list[Object]:
    return running.api.items("/api/v1/namespaces/default/pods?labelSelector=app=trains")
