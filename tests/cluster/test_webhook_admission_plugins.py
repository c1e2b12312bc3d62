"""The webhook with Kubernetes' own admission: Pod Security, RuntimeClass, quotas, limits and tolerations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError, Object
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.hooks import local_webhook, namespace
from tests.cluster.harness.manifests import CLASSES, GPU, PIPE, container, pod
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
ENFORCE = "pod-security.kubernetes.io/enforce"
CONFINED = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture(scope="module")
def running(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    """A control plane with an admission plugin that is off by default, the runtime class, and the product."""
    with (
        control_plane(ControlPlaneOptions(admission_plugins=("PodTolerationRestriction",))) as started,
        started.api.created(CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"}),
        local_webhook(started),
    ):
        yield started


def _create(running: ControlPlaneOnly, path: str, manifest: Object) -> tuple[Object, str]:
    """The stored pod, and the warnings that kubectl prints."""
    space = path.rsplit("/", 1)[1]
    said = running.kubectl.run("--namespace", space, "create", "-f", "-", manifest=manifest)
    assert said.returncode == 0, said.stderr
    return running.api.get(f"{path}/pods/{manifest['metadata']['name']}"), said.stderr


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_pod_security_admits_pods_without_injected_host_path(running: ControlPlaneOnly, level: str) -> None:
    with namespace(running, level, **{ENFORCE: level}) as path:
        stored, warnings = _create(running, path, pod("strict", container(securityContext=CONFINED)))
        assert "GPS012" not in warnings, "the device plugin mounts the directory itself"
        assert "PodSecurity" not in warnings
        assert [volume for volume in stored["spec"]["volumes"] if "hostPath" in volume] == []
        assert stored["spec"]["runtimeClassName"] == "nvidia"
        assert OURS in stored["spec"]["tolerations"]
        assert stored["spec"]["containers"][0]["env"] == [{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": PIPE}]


@pytest.mark.parametrize("labels", [{}, {ENFORCE: "privileged"}])
def test_host_path_is_injected_where_pod_security_allows_it(running: ControlPlaneOnly, labels: dict[str, str]) -> None:
    with namespace(running, f"open-{len(labels)}", **labels) as path:
        stored, warnings = _create(running, path, pod("open"))
        assert [one["hostPath"]["path"] for one in stored["spec"]["volumes"] if "hostPath" in one] == [
            "/run/nvidia/mps/nvidia.com/gpu/pipe"
        ]
        assert warnings == ""


def test_pod_security_warns_about_injected_host_path(running: ControlPlaneOnly) -> None:
    with namespace(running, "warned", **{"pod-security.kubernetes.io/warn": "baseline"}) as path:
        _, warnings = _create(running, path, pod("warned"))
        assert 'Warning: would violate PodSecurity "baseline:latest": hostPath volumes' in warnings


def test_resource_quota_counts_requested_gpus(running: ControlPlaneOnly) -> None:
    with namespace(running, "quota") as path:
        quota = {"metadata": {"name": "gpus"}, "spec": {"hard": {f"requests.{GPU}": 1}}}
        running.api.create(f"{path}/resourcequotas", quota)
        counted = f"{path}/resourcequotas/gpus"
        running.api.wait_for(counted, "to be counted", lambda now: "used" in now.get("status", {}))
        running.api.create(f"{path}/pods", pod("first"))
        running.api.wait_for(counted, "to be used", lambda now: now["status"]["used"] == {f"requests.{GPU}": "1"})
        with pytest.raises(ApiError, match="exceeded quota: gpus") as refused:
            running.api.create(f"{path}/pods", pod("second"))
        assert refused.value.code == 403


def test_quota_on_other_keys_counts_no_gpus(running: ControlPlaneOnly) -> None:
    """GPS032 says so of both keys."""
    with namespace(running, "uncounted") as path:
        quota = {"metadata": {"name": "gpus"}, "spec": {"hard": {f"limits.{GPU}": "1", GPU: "1", "pods": "2"}}}
        running.api.create(f"{path}/resourcequotas", quota)
        counted = f"{path}/resourcequotas/gpus"
        running.api.wait_for(counted, "to be counted", lambda now: "used" in now.get("status", {}))
        for name in ("first", "second"):
            running.api.create(f"{path}/pods", pod(name))
        running.api.wait_for(counted, "to count both pods", lambda now: now["status"]["used"].get("pods") == "2")
        used = running.api.get(counted)["status"]["used"]
        assert {key: used.get(key, "0") for key in (f"limits.{GPU}", GPU)} == {f"limits.{GPU}": "0", GPU: "0"}


def test_limit_range_maximum_is_the_default(running: ControlPlaneOnly) -> None:
    """GPS032 says so, and that a default of 0 beside it stands for no GPU."""
    with namespace(running, "capped") as path:
        limits: Object = {"type": "Container", "max": {GPU: "1"}}
        ranges = f"{path}/limitranges"
        running.api.create(ranges, {"metadata": {"name": "gpus"}, "spec": {"limits": [limits]}})
        given = wait_for("the range to be in force", lambda: _limits(running, path).get(GPU))
        assert given == "1"
        running.api.delete(f"{ranges}/gpus")
        limits["default"] = {GPU: "0"}
        running.api.create(ranges, {"metadata": {"name": "none"}, "spec": {"limits": [limits]}})
        wait_for("the other range to be in force", lambda: _limits(running, path).get(GPU) == "0")


def test_limit_range_minimum_rejects_containers_without_gpu(running: ControlPlaneOnly) -> None:
    """GPS032 says so; the webhook rejects such a pod before the API server would."""
    with namespace(running, "floored") as path:
        limits = [{"type": "Container", "min": {GPU: "1"}}]
        running.api.create(f"{path}/limitranges", {"metadata": {"name": "gpus"}, "spec": {"limits": limits}})
        with pytest.raises(ApiError, match=r"GPS003 .* without a limit"):
            wait_for("the range to be in force", lambda: _limits(running, path) is None)


def _limits(running: ControlPlaneOnly, path: str) -> Object:
    """The limits that a new container without any gets."""
    stored = running.api.create(f"{path}/pods?dryRun=All", pod("plain", container(gpus=0)))
    limits: Object = stored["spec"]["containers"][0].get("resources", {}).get("limits", {})
    return limits


def test_limit_range_defaults_are_checked(running: ControlPlaneOnly) -> None:
    with namespace(running, "ranged") as path:
        limits = [{"type": "Container", "default": {GPU: "2"}, "defaultRequest": {GPU: "2"}}]
        running.api.create(f"{path}/limitranges", {"metadata": {"name": "gpus"}, "spec": {"limits": limits}})
        with pytest.raises(ApiError, match='GPS001 container "main" asks for 2'):
            wait_for(
                "the range to be in force",
                lambda: running.api.create(f"{path}/pods?dryRun=All", pod("two", container(gpus=0))) is None,
            )
        one = [{"op": "replace", "path": f"/spec/limits/0/{name}", "value": {GPU: "1"}} for name in _DEFAULTS]
        running.api.patch(f"{path}/limitranges/gpus", one, form="json")
        stored = wait_for("the range to be changed", lambda: _taken(running, f"{path}/pods", container(gpus=0)))
        assert stored["spec"]["containers"][0]["resources"]["limits"] == {GPU: "1"}
        assert stored["spec"]["runtimeClassName"] == "nvidia"


_DEFAULTS = ("default", "defaultRequest")


def _taken(running: ControlPlaneOnly, path: str, asks: Object) -> Object | None:
    try:
        return running.api.create(f"{path}?dryRun=All", pod("taken", asks))
    except ApiError:
        return None


def test_limit_range_maximum_rejects_pod(running: ControlPlaneOnly) -> None:
    with namespace(running, "none") as path:
        limits = [{"type": "Container", "max": {GPU: "0"}}]
        running.api.create(f"{path}/limitranges", {"metadata": {"name": "gpus"}, "spec": {"limits": limits}})
        wait_for("the range to be in force", lambda: not _taken(running, f"{path}/pods", container()))
        with pytest.raises(ApiError, match=r"maximum nvidia\.com/gpu usage per Container is 0"):
            running.api.create(f"{path}/pods", pod("one"))


TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
ALWAYS_THERE = [
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
]
DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"


def test_toleration_whitelist_without_injected_toleration_rejects_pod(running: ControlPlaneOnly) -> None:
    def refusal() -> str:
        try:
            running.api.create(f"{path}/pods?dryRun=All", pod("one"))
        except ApiError as refused:
            return refused.message
        return ""

    with namespace(running, "listed") as path:
        running.api.patch(path, {"metadata": {"annotations": {TOLERATIONS: json.dumps(ALWAYS_THERE)}}})
        wait_for("the whitelist to be in force", lambda: "pod tolerations" in refusal())
        plain = running.api.create(f"{path}/pods?dryRun=All", pod("plain", container(gpus=0)))
        assert OURS not in plain["spec"]["tolerations"]
        running.api.patch(path, {"metadata": {"annotations": {TOLERATIONS: json.dumps([*ALWAYS_THERE, OURS])}}})
        wait_for("the longer whitelist to be in force", lambda: refusal() == "")


def test_default_tolerations_of_namespace_are_kept(running: ControlPlaneOnly) -> None:
    team = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}
    with namespace(running, "defaulted") as path:
        running.api.patch(path, {"metadata": {"annotations": {DEFAULTS: json.dumps([team])}}})

        def has_both() -> bool:
            held = running.api.create(f"{path}/pods?dryRun=All", pod("both"))["spec"]["tolerations"]
            return (held.count(team), held.count(OURS)) == (1, 1)

        wait_for("both tolerations", has_both)
