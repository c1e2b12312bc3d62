"""How kubelet, container runtime and NVIDIA's device plugin handle GPU pods without any webhook.

The webhook's checks and injections rely on these facts.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.manifests import PIPE, container, host_path, pod

if TYPE_CHECKING:
    from tests.cluster.harness.workspace import Workspace

HOST_PIPE = "/run/nvidia/mps/nvidia.com/gpu/pipe"
SHM = "/dev/shm"  # noqa: S108
HOST_SHM = "/run/nvidia/mps/shm"


def test_device_plugin_sets_environment_and_mounts(space: Workspace) -> None:
    space.start(pod("one"))
    environment = space.environment("one")
    assert f"CUDA_MPS_PIPE_DIRECTORY={PIPE}" in environment
    assert sum(entry.startswith("NVIDIA_VISIBLE_DEVICES=GPU-") for entry in environment) == 1
    (space.cluster.inside.path(HOST_PIPE) / "from-the-host").touch()
    assert "from-the-host" in space.sh("one", f"ls {PIPE}")
    (pipe,), (*_, shm) = space.mounts("one", PIPE), space.mounts("one", SHM)
    assert (pipe.root, pipe.kind) == (HOST_PIPE.removeprefix("/run"), "tmpfs")
    assert (shm.root, shm.kind) == (HOST_SHM.removeprefix("/run"), "tmpfs")


@pytest.mark.parametrize(
    ("name", "value"),
    [("CUDA_MPS_PIPE_DIRECTORY", "/elsewhere"), ("NVIDIA_VISIBLE_DEVICES", "all"), ("NVIDIA_VISIBLE_DEVICES", "void")],
)
def test_pod_environment_overrides_device_plugin(space: Workspace, name: str, value: str) -> None:
    space.start(pod("own", container(env=[{"name": name, "value": value}])))
    entries = [entry for entry in space.environment("own") if entry.startswith(f"{name}=")]
    assert entries == [f"{name}={value}"]
    assert len(space.mounts("own", PIPE)) == 1, "the plugin's mount stays"


def test_duplicate_variable_has_last_value(space: Workspace) -> None:
    twice = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value} for value in ("first", "last")]
    space.start(pod("twice", container(env=twice)))
    entries = [entry for entry in space.environment("twice") if entry.startswith("NVIDIA_VISIBLE_DEVICES=")]
    assert entries == ["NVIDIA_VISIBLE_DEVICES=last"]


def _mounting(path: str, at: str, **mount: Any) -> dict[str, Any]:
    mounts = [{"name": "own", "mountPath": at, **mount}]
    return pod("mounts", container(volumeMounts=mounts), volumes=[host_path("own", path)])


def test_same_host_path_twice_is_harmless(space: Workspace) -> None:
    space.start(_mounting(HOST_PIPE, PIPE))
    lower, upper = space.mounts("mounts", PIPE)
    assert lower.root == upper.root == HOST_PIPE.removeprefix("/run")
    assert "rw" in upper.options


def test_mount_of_parent_folder_keeps_device_plugin_mount(space: Workspace) -> None:
    space.start(_mounting("/run/nvidia/mps", "/mps"))
    (pipe,) = space.mounts("mounts", PIPE)
    assert pipe.root == HOST_PIPE.removeprefix("/run")


def test_read_only_mount_allows_writing_to_fifo(space: Workspace) -> None:
    space.start(_mounting(HOST_PIPE, PIPE, readOnly=True))
    assert "ro" in space.mounts("mounts", PIPE)[-1].options
    refused = space.sh("mounts", f"touch {PIPE}/new 2>&1 || true")
    assert os.strerror(errno.EROFS) in refused
    fifo = space.cluster.inside.path(HOST_PIPE) / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        space.sh("mounts", f"echo hello > {PIPE}/fifo")
        assert os.read(reader, 100) == b"hello\n"
    finally:
        os.close(reader)
        fifo.unlink()


def test_runtime_creates_folder_of_missing_mps_daemon(space: Workspace) -> None:
    folder = space.cluster.inside.path(HOST_PIPE)
    for left in folder.iterdir():
        left.unlink()
    folder.rmdir()
    space.start(pod("silent"))
    assert folder.is_dir()
    assert space.sh("silent", f"ls {PIPE}") == ""
