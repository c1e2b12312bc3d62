"""Pods that run, but not as clients of MPS; and pods that run as they should."""

from __future__ import annotations

from dataclasses import replace

from tests.cluster.faults.fault import Fault, of_pod, phase, running
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.manifests import PIPE, STRATEGY, container, host_path, pod

SHM = "/dev/shm"  # noqa: S108
_CLIENT = [{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": PIPE}]
_MPS = {"nodeSelector": {STRATEGY: "mps"}, "runtimeClassName": "nvidia"}
_INJECTED = {
    "runtimeClassName": "nvidia",
    "volumes": [host_path("gpushare-mps-nvidia-com-gpu", f"/run/nvidia{PIPE}")],
}
_MOUNTED = container(env=_CLIENT, volumeMounts=[{"name": "gpushare-mps-nvidia-com-gpu", "mountPath": PIPE}])


def _user(name: str, number: int) -> dict[str, object]:
    return pod(name, securityContext={"runAsUser": number}, **_MPS)


def _over(target: str, kind: dict[str, str]) -> tuple[dict[str, object], dict[str, object]]:
    """A container with an empty folder over a path of MPS, and its volume."""
    return container(volumeMounts=[{"name": "scratch", "mountPath": target}]), {"name": "scratch", "emptyDir": kind}


_OVER_PIPE, _EMPTY = _over(PIPE, {})
_OVER_SHM, _MEMORY = _over(SHM, {"medium": "Memory"})

FAULTS = (
    of_pod("healthy", "nothing-wrong", running, **_MPS),
    of_pod("healthy-injected", "nothing-wrong", running, _MOUNTED, nodeSelector={STRATEGY: "mps"}, **_INJECTED),
    of_pod("pipe-hidden", "pipe-hidden", running, _OVER_PIPE, volumes=[_EMPTY], **_MPS),
    of_pod("shared-memory-of-volta", "nothing-wrong", running, _OVER_SHM, volumes=[_MEMORY], **_MPS),
    replace(
        of_pod("shared-memory-hidden", "shared-memory-hidden", running, _OVER_SHM, volumes=[_MEMORY], **_MPS),
        state="older-than-volta",
    ),
    of_pod(
        "pipe-directory",
        "pipe-directory",
        running,
        container(env=[{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/tmp/nvidia-mps"}]),  # noqa: S108
        **_MPS,
    ),
    of_pod(
        "no-replica-asked",
        "no-replica-asked",
        running,
        container(gpus=0, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]),
        **_MPS,
    ),
    Fault(
        "other-user",
        "other-user",
        (_user("first", 1000), _user("main", 2000)),
        running,
        state="two-users",
    ),
    Fault("no-daemon", "no-daemon", (pod("main", **_MPS),), running, state="no-daemon"),
    Fault(
        "node-not-mps",
        "node-not-mps",
        (pod("main", _MOUNTED, nodeName=NODE, **_INJECTED),),
        running,
        state="time-slicing",
    ),
    Fault(
        "healthy-time-slicing",
        "nothing-wrong",
        (pod("main", runtimeClassName="nvidia", nodeSelector={STRATEGY: "time-slicing"}),),
        running,
        state="time-slicing",
    ),
    Fault(
        "completed",
        "completed",
        (pod("main", container(command=["true"]), restartPolicy="Never"),),
        phase("Succeeded"),
    ),
)
