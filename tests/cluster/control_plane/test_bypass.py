"""The requests after a pod's creation that could get around the checks: the chart's hooks on a real API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.chart_hooks import TWO, chart_hooks
from tests.cluster.harness.hooks import is_mutated, rejection
from tests.cluster.harness.manifests import DEPLOYMENTS, GPU, PODS, annotated, container, deployment, pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.harness.hooks import LocalWebhook

pytestmark = pytest.mark.usefixtures("clean")

FAILED = "failed calling webhook"
QUEUE, QUOTA = {"name": "example.com/queue"}, {"name": "example.com/quota"}
PLAIN = container(gpus=0)


@pytest.fixture(scope="module")
def hooks(running: ControlPlaneOnly, request: pytest.FixtureRequest) -> Iterator[LocalWebhook]:
    """The chart's configurations in force, with the settings of a parameter, if any."""
    _, settings = getattr(request, "param", ("", {}))
    with chart_hooks(running, settings) as beside:
        yield beside


def _own_hooks(name: str, settings: Object) -> pytest.MarkDecorator:
    """For a test with other settings, or one that stops the webhook. Tests with the same name share the hooks."""
    return pytest.mark.parametrize("hooks", [(name, settings)], indirect=True, ids=[name])


def gated(name: str, *containers: Object, gates: tuple[Object, ...] = (QUEUE,), **spec: Any) -> Object:
    return pod(name, *containers, schedulingGates=list(gates), **spec)


def _create(running: ControlPlaneOnly, manifest: Object) -> Object:
    return running.api.create(PODS, manifest)


def _release(running: ControlPlaneOnly, name: str, *left: Object, **spec: Any) -> Object:
    """Leave a pod these gates, with other members of its spec in the same request."""
    return running.api.patch(f"{PODS}/{name}", {"spec": {"schedulingGates": list(left) or None, **spec}})


def test_gated_pod_over_limit_is_created_with_warning(running: ControlPlaneOnly, hooks: LocalWebhook) -> None:
    (warning,) = running.api.warnings("POST", PODS, gated("two", container(gpus=2)))
    assert TWO in warning


def test_release_of_pod_over_limit_is_rejected(running: ControlPlaneOnly, hooks: LocalWebhook) -> None:
    _create(running, gated("two", container(gpus=2), gates=(QUEUE, QUOTA)))
    _release(running, "two", QUOTA)
    with pytest.raises(ApiError) as rejected:
        _release(running, "two")
    assert (rejected.value.code, rejected.value.reason) == (403, "Forbidden")
    assert TWO in rejected.value.message
    assert 'webhook "pods.validate.gpushare-webhook.io" denied the request' in rejected.value.message
    assert running.api.get(f"{PODS}/two")["spec"]["schedulingGates"] == [QUOTA]


def test_queue_on_whole_cards_releases_pod_over_limit(running: ControlPlaneOnly, hooks: LocalWebhook) -> None:
    _create(running, gated("two", container(gpus=2)))
    released = _release(running, "two", nodeSelector={"nvidia.com/gpu.sharing-strategy": "none"})
    assert "schedulingGates" not in released["spec"]


def test_valid_gated_pod_is_mutated_and_released(running: ControlPlaneOnly, hooks: LocalWebhook) -> None:
    assert is_mutated(_create(running, gated("one")))
    body = {"spec": {"schedulingGates": None}}
    assert running.api.warnings("PATCH", f"{PODS}/one", body, "merge-patch+json") == []
    assert "schedulingGates" not in running.api.get(f"{PODS}/one")["spec"]


def _debug(running: ControlPlaneOnly, name: str, *options: str) -> str:
    """Add an ephemeral container as `kubectl debug` does, and return the warnings. Raises RuntimeError."""
    done = running.kubectl.run("debug", name, "--image=busybox", "--quiet", *options)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stderr


SEES_ALL = "--env=NVIDIA_VISIBLE_DEVICES=all"
PRIVILEGED = "--profile=sysadmin"


def test_ephemeral_container_with_all_gpus_warns(running: ControlPlaneOnly, hooks: LocalWebhook) -> None:
    _create(running, pod("plain", PLAIN))
    said = _debug(running, "plain", SEES_ALL, "--container=debug")
    assert 'Warning: GPS007 ephemeral container "debug" sets NVIDIA_VISIBLE_DEVICES to "all"' in said
    assert "GPS" not in _debug(running, "plain", "--container=shell"), "what is there already is not reported again"
    assert len(running.api.get(f"{PODS}/plain")["spec"]["ephemeralContainers"]) == 2


def test_privileged_ephemeral_container_warns_only_in_gpu_pods(running: ControlPlaneOnly, hooks: LocalWebhook) -> None:
    _create(running, pod("plain", PLAIN))
    _create(running, pod("one"))
    assert "GPS" not in _debug(running, "plain", PRIVILEGED)
    said = _debug(running, "one", PRIVILEGED, "--container=debug")
    assert 'Warning: GPS007 ephemeral container "debug" is privileged' in said
    (added,) = running.api.get(f"{PODS}/one")["spec"]["ephemeralContainers"]
    assert added["securityContext"]["privileged"] is True


@_own_hooks("GPS007 denies", {"severities": {"GPS007": "deny"}})
def test_ephemeral_container_is_rejected_where_gps007_denies(running: ControlPlaneOnly, hooks: LocalWebhook) -> None:
    _create(running, pod("one"))
    with pytest.raises(RuntimeError, match="GPS007 ephemeral container"):
        _debug(running, "one", SEES_ALL)
    with pytest.raises(RuntimeError, match="GPS007 ephemeral container"):
        _debug(running, "one", PRIVILEGED)
    _debug(running, "one")
    assert len(running.api.get(f"{PODS}/one")["spec"]["ephemeralContainers"]) == 1


@_own_hooks("stopped", {})
def test_dead_webhook_rejects_only_release_of_gpu_pods(running: ControlPlaneOnly, hooks: LocalWebhook) -> None:
    """The pods were created before; ephemeral containers pass, too."""
    for manifest in (gated("gpu"), gated("plain", PLAIN), pod("debugged")):
        _create(running, manifest)
    hooks.process.stop()
    assert FAILED in rejection(running, pod("probe"))
    with pytest.raises(ApiError, match=FAILED):
        _release(running, "gpu")
    running.api.patch(f"{PODS}/gpu", {"metadata": {"labels": {"a": "b"}}})
    assert "schedulingGates" not in _release(running, "plain")["spec"]
    assert "GPS" not in _debug(running, "debugged", SEES_ALL)
    assert len(running.api.get(f"{PODS}/debugged")["spec"]["ephemeralContainers"]) == 1


DEVICE = {"name": "device", "mountPath": "/var/run//nvidia-container-devices/./all"}
DEV_NULL = {"name": "device", "hostPath": {"path": "/dev/null"}}
MOUNTS_DEVICE = 'GPS007 container "main" mounts "/var/run/nvidia-container-devices/all"'


def test_device_mount_warns_in_pods_and_templates(running: ControlPlaneOnly, hooks: LocalWebhook) -> None:
    mounting = container(gpus=0, volumeMounts=[DEVICE])
    (warning,) = running.api.warnings("POST", PODS, pod("mounting", mounting, volumes=[DEV_NULL]))
    assert MOUNTS_DEVICE in warning
    body = deployment("mounting", mounting, replicas=0, volumes=[DEV_NULL])
    (warning,) = running.api.warnings("POST", f"{DEPLOYMENTS}?dryRun=All", body)
    assert MOUNTS_DEVICE in warning
    plain = container(gpus=0, volumeMounts=[{**DEVICE, "mountPath": "/var/run/data"}])
    assert running.api.warnings("POST", PODS, pod("plain", plain, volumes=[DEV_NULL])) == []


@pytest.mark.parametrize("name", ["nvidia.com/GPU", "nvidai.com/GPU", "nvidia/gpu", "alpha.kubernetes.io/nvidia-gpu"])
def test_mistaken_name_warns(running: ControlPlaneOnly, hooks: LocalWebhook, name: str) -> None:
    (warning,) = running.api.warnings("POST", f"{PODS}?dryRun=All", pod("mistaken", container(resource=name)))
    assert f'GPS013 container "main" asks for "{name}"; did you mean "nvidia.com/gpu"?' in warning


ASKS = {"gpu-fraction": "0.5"}


# With the profile's whole cards nothing would reject the two that show that the hooks are in force.
KAI = {"profile": "kai", "resources": [{"name": GPU}]}


@_own_hooks("kai", KAI)
def test_request_by_annotation_is_mutated_and_checked(running: ControlPlaneOnly, hooks: LocalWebhook) -> None:
    created = _create(running, annotated(pod("fraction", PLAIN), **ASKS))
    assert is_mutated(created)
    assert created["spec"]["volumes"][-1]["hostPath"] == {"path": "/tmp/nvidia-mps", "type": "DirectoryOrCreate"}  # noqa: S108
    assert not is_mutated(_create(running, pod("plain", PLAIN)))
    elsewhere = container(gpus=0, env=[{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/elsewhere"}])
    assert "GPS004" in rejection(running, annotated(pod("elsewhere", elsewhere), **ASKS))
    assert rejection(running, pod("elsewhere", elsewhere)) == ""
    body = deployment("elsewhere", elsewhere, replicas=0)
    body["spec"]["template"] = annotated(body["spec"]["template"], **ASKS)
    with pytest.raises(ApiError, match="GPS004") as rejected:
        running.api.create(f"{DEPLOYMENTS}?dryRun=All", body)
    assert "other-templates.validate.gpushare-webhook.io" in rejected.value.message


@_own_hooks("kai", KAI)
def test_dropped_toleration_of_request_by_annotation_is_restored(
    running: ControlPlaneOnly, hooks: LocalWebhook
) -> None:
    created = _create(running, annotated(pod("fraction", PLAIN), **ASKS))
    ours = [one for one in created["spec"]["tolerations"] if one.get("key") == GPU]
    assert len(ours) == 1
    kept = [one for one in created["spec"]["tolerations"] if one not in ours]
    after = running.api.patch(f"{PODS}/fraction", {"spec": {"tolerations": kept}})
    assert ours[0] in after["spec"]["tolerations"]


@_own_hooks("kai, stopped", KAI)
def test_dead_webhook_admits_request_by_annotation(running: ControlPlaneOnly, hooks: LocalWebhook) -> None:
    hooks.process.stop()
    assert FAILED in rejection(running, pod("probe"))
    assert not is_mutated(_create(running, annotated(pod("fraction", PLAIN), **ASKS)))


def test_api_server_forbids_ephemeral_containers_in_new_pod(running: ControlPlaneOnly) -> None:
    debug = {"name": "debug", "image": "busybox"}
    assert "spec.ephemeralContainers: Forbidden" in rejection(running, pod("new", ephemeralContainers=[debug]))


def _resources(amounts: Object) -> Object:
    return {"spec": {"containers": [{"name": "main", "resources": {"limits": amounts, "requests": amounts}}]}}


def test_resize_changes_no_gpu(running: ControlPlaneOnly) -> None:
    _create(
        running, pod("one", container(resources={"limits": {GPU: 1, "cpu": "1"}, "requests": {GPU: 1, "cpu": "1"}}))
    )
    path = f"{PODS}/one/resize"
    with pytest.raises(ApiError, match="only cpu and memory resources are mutable"):
        running.api.patch(path, _resources({GPU: 2, "cpu": "1"}), form="strategic")
    with pytest.raises(ApiError, match="only cpu and memory resources are mutable"):
        running.api.patch(path, _resources({"nvidia.com/gpu.shared": 1}), form="strategic")


def test_status_changes_no_spec(running: ControlPlaneOnly) -> None:
    before = _create(running, gated("one"))
    change = {"spec": {"schedulingGates": None, "nodeName": "x"}, "metadata": {"labels": {"a": "b"}}}
    after = running.api.patch(f"{PODS}/one/status", change)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize("path", [f"{PODS}/one/binding", "/api/v1/namespaces/default/bindings"])
def test_binding_does_not_remove_gates(running: ControlPlaneOnly, path: str) -> None:
    _create(running, gated("one"))
    body = {"metadata": {"name": "one"}, "target": {"kind": "Node", "name": "shared-1"}}
    with pytest.raises(ApiError, match=r"non-empty \.spec\.schedulingGates"):
        running.api.create(path, body)


@pytest.mark.parametrize("path", [f"{PODS}/one/binding", "/api/v1/namespaces/default/bindings"])
def test_binding_changes_only_node(running: ControlPlaneOnly, path: str) -> None:
    before = _create(running, pod("one"))
    running.api.create(path, {"metadata": {"name": "one"}, "target": {"kind": "Node", "name": "shared-1"}})
    assert running.api.get(f"{PODS}/one")["spec"] == {**before["spec"], "nodeName": "shared-1"}


@pytest.mark.parametrize("subresource", ["binding", "ephemeralcontainers", "resize", "status"])
@pytest.mark.parametrize("role", ["edit", "admin"])
def test_default_roles_do_not_grant_subresource(running: ControlPlaneOnly, role: str, subresource: str) -> None:
    rules = running.api.get(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}")["rules"]
    granted = [rule["verbs"] for rule in rules if f"pods/{subresource}" in rule.get("resources", [])]
    assert not {"create", "update", "patch", "*"} & {verb for verbs in granted for verb in verbs}
