"""The chart's configurations without a running server: GPU workloads wait, and everything else continues."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.hooks import VALIDATING, namespace, rejection
from tests.cluster.harness.manifests import container, deployment, host_path, pod
from tests.cluster.harness.release import NAME, NAMESPACE, prepared
from tests.cluster.harness.waiting import wait_for
from tests.project.pages import page_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.release import Release
    from tests.cluster.harness.workspace import Workspace

FAILED = "failed calling webhook"


@pytest.fixture(scope="module")
def release(cluster: Cluster) -> Iterator[Release]:
    with prepared(cluster, "existing-secret") as release:
        release.upgrade()
        yield release


@pytest.fixture
def trains(release: Release, space: Workspace) -> str:
    """The path of a Deployment with two running pods of one GPU each."""
    assert release.pods()
    space.create(deployment("trains", replicas=2))
    space.kubectl("rollout", "status", "deployment/trains", "--timeout=180s")
    return f"/apis/apps/v1/namespaces/{space.name}/deployments/trains"


@contextmanager
def _dead(release: Release) -> Iterator[None]:
    """Run the block without a server: delete the servers, and let no node accept new ones."""
    kubectl = release.cluster.kubectl
    kubectl("cordon", NODE)
    try:
        kubectl("delete", "pod", f"--namespace={NAMESPACE}", "--all", "--wait=true")
        wait_for("calls to fail", lambda: FAILED in rejection(release.cluster, pod("asks")))
        yield
    finally:
        kubectl("uncordon", NODE)
        wait_for("calls to succeed", lambda: rejection(release.cluster, pod("asks")) == "")


def _replicas(space: Workspace, trains: str, count: int) -> Object:
    """The Deployment as soon as it has `count` ready pods."""
    return space.api.wait_for(
        trains, f"to have {count} ready pods", lambda now: now["status"].get("readyReplicas", 0) == count
    )


def test_missing_pods_are_created_when_servers_return(release: Release, space: Workspace, trains: str) -> None:
    with _dead(release):
        space.kubectl("scale", "deployment/trains", "--replicas=3")
        space.api.wait_for(trains, "to report the rejection", lambda now: FAILED in str(now["status"]))
        with pytest.raises(RuntimeError, match=FAILED):
            space.kubectl("rollout", "restart", "deployment/trains")
    _replicas(space, trains, 3)


def test_pods_without_gpu_and_nvidia_pods_are_created_without_servers(release: Release, space: Workspace) -> None:
    driver = container(gpus=0, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])
    volumes = [host_path("sockets", "/var/lib/kubelet/device-plugins")]
    with _dead(release), namespace(release.cluster, "nvidia-device-plugin"), namespace(release.cluster, "gpu-operator"):
        assert rejection(release.cluster, pod("plain", container(gpus=0)), space.name) == ""
        assert rejection(release.cluster, pod("sees-all", driver), space.name) == ""
        for own in ("kube-system", "nvidia-device-plugin", "gpu-operator"):
            assert rejection(release.cluster, pod("driver", driver, volumes=volumes), own) == ""
            assert rejection(release.cluster, pod("validator"), own) == ""


def test_emergency_page_command_without_helm_ignores_failures(
    release: Release, record_property: Callable[[str, object], None]
) -> None:
    with _dead(release):
        began = monotonic()
        _sh(release, page_block("docs/how-to/emergency.md", "| sed ").script)
        returned = monotonic()
        wait_for("GPU pods to be taken", lambda: rejection(release.cluster, pod("asks")) == "", every=0.05)
        taken = monotonic() - returned
    record_property("block of the page", f"{returned - began:.1f} s; first GPU pod taken {taken:.1f} s later")
    with pytest.raises(RuntimeError, match=r"conflict.*\.failurePolicy"):
        release.upgrade()
    release.upgrade(flags=("--force-conflicts",))
    hooks = release.cluster.api.get(f"{VALIDATING}/{NAME}")["webhooks"]
    assert "Fail" in {one["failurePolicy"] for one in hooks}


def _sh(release: Release, script: str) -> None:
    """Run a script for a release named `gpushare-webhook`, as the cluster's administrator."""
    renamed = script.replace("configuration gpushare-webhook", f"configuration {NAME}")
    control = release.cluster.control
    path = f"{control.tools.kubectl.parent}:{os.environ['PATH']}"
    environment = os.environ | {"KUBECONFIG": str(control.kubeconfigs["admin"]), "PATH": path}
    command = release.cluster.inside.command(["sh", "-ec", renamed])
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_deleted_configurations_stop_rejections_and_upgrade_restores_them(release: Release) -> None:
    with _dead(release):
        _sh(release, page_block("docs/how-to/emergency.md", "kubectl delete mutatingwebhookconfiguration").script)
        wait_for("GPU pods to be taken", lambda: rejection(release.cluster, pod("asks")) == "")
    release.upgrade()
    wait_for("the hooks to be back", lambda: "GPS001" in rejection(release.cluster, pod("two", container(gpus=2))))
