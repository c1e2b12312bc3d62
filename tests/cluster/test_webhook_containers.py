"""The environment of a process in a container, with the edits of the device plugin, of the webhook, and of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.manifests import CLASSES, PIPE, container, pod
from tests.cluster.harness.options import time_slicing
from tests.cluster.harness.workspace import Workspace, workspace
from tests.cluster.workloads import assert_completed

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

pytestmark = pytest.mark.usefixtures("installed_webhook")
HOST_PIPE = f"/run/nvidia{PIPE}"
VARIABLE = f"CUDA_MPS_PIPE_DIRECTORY={PIPE}"
SHM = "/dev/shm"  # noqa: S108
HOST_SHM = "/run/nvidia/mps/shm"


def _roots(space: Workspace, target: str, name: str = "main") -> list[str]:
    """What of the node's /run is mounted at a path of a pod's container, the lowest first."""
    return ["/run" + mount.root for mount in space.mounts("main", target, container=name)]


def _mps_variables(space: Workspace, name: str = "main") -> list[str]:
    return [entry for entry in space.environment("main", container=name) if entry.startswith("CUDA_MPS")]


def _leave_file(cluster: Cluster, folder: str) -> str:
    """A file in a folder of the node, as a sign that a container sees that very folder."""
    made = cluster.inside.path(folder)
    made.mkdir(parents=True, exist_ok=True)
    (made / "from-the-node").touch()
    return "from-the-node"


def test_plugin_and_webhook_edits_together(space: Workspace) -> None:
    sign = _leave_file(space.cluster, HOST_PIPE)
    assert_completed(space.start(pod("main")))
    assert _mps_variables(space) == [VARIABLE]
    assert _roots(space, PIPE) == [HOST_PIPE, HOST_PIPE]
    assert sign in space.sh("main", f"ls {PIPE}")


def test_webhook_edits_alone(cluster: Cluster) -> None:
    # Time slicing on an unlabelled node: the webhook assumes MPS, and the plugin adds nothing for MPS.
    sign = _leave_file(cluster, HOST_PIPE)
    with cluster.node.sharing(time_slicing()), workspace(cluster, "ours-alone") as space:
        assert_completed(space.start(pod("main")))
        assert _mps_variables(space) == [VARIABLE]
        assert _roots(space, PIPE) == [HOST_PIPE]
        assert sign in space.sh("main", f"ls {PIPE}")
        assert HOST_SHM not in _roots(space, SHM)


@pytest.mark.parametrize("spec", [{}, {"hostIPC": True}], ids=["own-ipc", "host-ipc"])
def test_dev_shm_is_that_of_mps_daemon(space: Workspace, spec: dict[str, Any]) -> None:
    sign = _leave_file(space.cluster, HOST_SHM)
    assert_completed(space.start(pod("main", **spec)))
    assert _roots(space, SHM)[-1] == HOST_SHM
    assert sign in space.sh("main", f"ls {SHM}")


def test_own_mount_at_dev_shm_hides_mps_without_warning(space: Workspace) -> None:
    mounts = [{"name": "shm", "mountPath": SHM}]
    memory = [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
    own = pod("main", container(volumeMounts=mounts), volumes=memory)
    done = space.run("create", "-f", "-", manifest=own)
    assert done.returncode == 0
    assert "GPS005" not in done.stderr, "no label shows a card older than Volta"
    space.wait_running("main")
    *below, top = _roots(space, SHM)
    assert top != HOST_SHM
    assert below, "the daemon's is below"


def test_container_without_gpu_gets_no_edits(space: Workspace) -> None:
    assert_completed(space.start(pod("main", container(), container("aside", gpus=0))))
    assert _mps_variables(space, "aside") == []
    assert _roots(space, PIPE, "aside") == []
    assert HOST_SHM not in _roots(space, SHM, "aside")


def _made(running: Object) -> str:
    return str(running["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://"))


def test_runtime_class_handler_runs_only_gpu_pods(space: Workspace) -> None:
    asks, plain = space.start(pod("asks")), space.start(pod("plain", container(gpus=0)))
    calls = space.cluster.node.containers.calls("nvidia").read_text()
    assert _made(asks) in calls
    assert _made(plain) not in calls


def test_own_runtime_class_is_kept(space: Workspace) -> None:
    own = {"metadata": {"name": "authors"}, "handler": "runc"}
    with space.api.created(CLASSES, own):
        running = space.start(pod("main", runtimeClassName="authors"))
        assert running["spec"]["runtimeClassName"] == "authors"
        assert _made(running) not in space.cluster.node.containers.calls("nvidia").read_text()
        assert _mps_variables(space) == [VARIABLE]


def test_native_sidecar_with_gpu_gets_edits(space: Workspace) -> None:
    sidecar = container("sidecar", restartPolicy="Always")
    running = space.start(pod("main", container(gpus=0), initContainers=[sidecar]))
    assert_completed(running, "sidecar")
    assert _mps_variables(space, "sidecar") == [VARIABLE]
    assert _roots(space, PIPE, "sidecar") == [HOST_PIPE, HOST_PIPE]
    assert _mps_variables(space) == []


def test_init_container_passes_its_replica_to_container(space: Workspace) -> None:
    init = container("init", command=["/bin/sh", "-c", "echo $CUDA_MPS_PIPE_DIRECTORY"])
    space.api.create(space.pods, pod("main", initContainers=[init]))
    assert_completed(space.wait_running("main"), "init", "main")
    assert space.kubectl("logs", "main", "--container=init") == f"{PIPE}\n"
