"""Containers that do not start or end, and workloads without pods: what is named, and remedies that look at the pod."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.cluster_objects import Object, container
from tests.diagnose.why.recorded import NAMESPACE, bound, event, node, state
from tests.diagnose.why.site import a_node, answers, plugin

NVML = "Failed to initialize NVML: Unknown Error"
NO_DEVICE = "CUDA error: no CUDA-capable device is detected"
NO_LIBRARY = "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"
VLLM = "RuntimeError: Failed to infer device type"
PROFILING = "AssertionError: Error in memory profiling. Initial free memory 39.4 GiB, current free memory 41.1 GiB."
WORKERS = "RuntimeError: DataLoader worker (pid 71) is killed by signal: Bus error. It is possible that ..."
MPS = "RuntimeError: CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server"
CLASS = {"runtimeClassName": "nvidia"}
PROFILE = "/var/lib/kubelet/seccomp/profiles/cuda.json"
SECCOMP = f'cannot load seccomp profile "{PROFILE}": open {PROFILE}: no such file or directory'
SHM = [{"name": "shm", "mountPath": "/dev/shm"}]  # noqa: S108 - a path in the container


@pytest.mark.parametrize(
    ("line", "own", "spec", "cause", "remedy", "never"),
    [
        (NVML, {}, CLASS, "gpu-lost", "kubectl delete pod main -n team-a", "runtimeClassName"),
        (
            NO_DEVICE,
            {},
            CLASS,
            "cuda-no-device",
            "kubectl exec main -n team-a -c main -- nvidia-smi",
            "runtimeClassName",
        ),
        (NO_DEVICE, {}, {}, "cuda-no-device", "set runtimeClassName: nvidia", "ask for"),
        (
            NO_DEVICE,
            {"env": [{"name": "CUDA_VISIBLE_DEVICES", "value": "3"}]},
            CLASS,
            "cuda-no-device",
            "remove CUDA_VISIBLE_DEVICES",
            "runtimeClassName",
        ),
        (NO_LIBRARY, {}, {}, "cuda-driver", "set runtimeClassName: nvidia", "older CUDA"),
        (NO_LIBRARY, {}, CLASS, "cuda-driver", "use an image with an older CUDA", "runtimeClassName"),
        (VLLM, {}, {}, "cuda-driver", "set runtimeClassName: nvidia", "ask for"),
        (
            "ERROR: No platform detected, vLLM is running on UnspecifiedPlatform",
            {},
            {},
            "cuda-driver",
            "set runtimeClassName",
            "ask for",
        ),
        (PROFILING, {}, CLASS, "memory-profiling", "--gpu-memory-utilization", "ask for"),
        (WORKERS, {}, CLASS, "shared-memory", "emptyDir with medium: Memory", "sizeLimit"),
        (WORKERS, {"volumeMounts": SHM}, CLASS, "shared-memory", "raise sizeLimit", "emptyDir"),
        (MPS, {"securityContext": {"runAsUser": 1234}}, CLASS, "cuda-mps-connection", "runAsUser", "doctor"),
    ],
)
def test_line_of_log_gets_remedy_for_the_pod(
    line: str, own: Object, spec: Object, cause: str, remedy: str, never: str
) -> None:
    found = answers(bound(container(**own), spec=spec), node(), logs={"main": line})[0]
    assert found.finding == cause
    assert remedy in str(found.remedy)
    assert never not in str(found.remedy)


def test_container_without_request_is_told_to_ask() -> None:
    found = answers(bound(container("main", 0), spec=CLASS), node(), logs={"main": PROFILING})[0]
    assert "ask for nvidia.com/gpu: 1" in str(found.remedy)


def test_class_is_that_of_the_plugin() -> None:
    stack = plugin(on=("mps-1",), with_manager=False, runtimeClassName="nvidia-cdi")
    found = answers(bound(), node(), a_node("x"), stack, logs={"main": NO_LIBRARY})[0]
    assert "set runtimeClassName: nvidia-cdi" in str(found.remedy)


def test_no_class_where_the_plugin_has_none() -> None:
    stack = plugin(on=("mps-1",), with_manager=False)
    found = answers(bound(), node(), stack, logs={"main": NO_LIBRARY})[0]
    assert "runtimeClassName" not in str(found.remedy)


def test_probe_names_lost_gpu() -> None:
    unready = bound(states=[state(ready=False)], spec=CLASS)
    found = answers(unready, node(), event("Unhealthy", f"Liveness probe failed: {NVML}"))[0]
    assert found.finding == "gpu-lost"


@pytest.mark.parametrize(
    ("message", "words", "remedy"),
    [
        (
            SECCOMP,
            "profiles/cuda.json",
            "seccomp",
        ),
        ("failed to generate apparmor spec opts: apparmor profile not found deny-write", "AppArmor", "appArmorProfile"),
        ('failed to prepare subPath for volumeMount "data" of container "main"', "subPath", "subPath"),
        ("context deadline exceeded", "context deadline exceeded", "what the message names"),
        (
            'exec: "train": executable file not found in $PATH',
            "the program of container main",
            "command, args or image",
        ),
    ],
)
def test_container_that_cannot_be_created(message: str, words: str, remedy: str) -> None:
    waits = state(ready=False, state={"waiting": {"reason": "CreateContainerError", "message": message}})
    found = answers(bound(states=[waits], phase="Pending"), node())[0]
    assert found.finding == "container-start"
    assert words in found.cause
    assert remedy in str(found.remedy)


def test_driver_that_is_not_injected_names_what_lacks() -> None:
    message = 'exec: "nvidia-smi": executable file not found in $PATH'
    waits = state(ready=False, state={"waiting": {"reason": "RunContainerError", "message": message}})
    variable = container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"}])
    found = answers(bound(variable, states=[waits], phase="Pending", spec=CLASS), node())[0]
    assert found.finding == "driver-not-injected"
    assert str(found.remedy).startswith("remove NVIDIA_VISIBLE_DEVICES:")


def workload(kind: str, group: str = "apps/v1", **fields: Any) -> Object:
    metadata = {"name": "main", "namespace": NAMESPACE}
    return {"apiVersion": group, "kind": kind, "metadata": metadata, "spec": {"replicas": 1}, **fields}


def refused(message: str) -> Object:
    condition = {"type": "ReplicaFailure", "status": "True", "message": message}
    return workload("ReplicaSet", status={"conditions": [condition]})


def test_limit_range_is_compared() -> None:
    message = 'pods "main-x" is forbidden: maximum nvidia.com/gpu usage per Container is 1, but limit is 2'
    found = answers(refused(message), kind="ReplicaSet")[0]
    assert "allows at most 1 of nvidia.com/gpu per Container, and the pods ask for 2" in found.cause
    assert str(found.remedy).startswith("ask for at most 1: kubectl edit replicaset/main -n team-a")


def test_replica_set_that_cannot_be_made() -> None:
    message = 'Internal error occurred: failed calling webhook "validate.gpushare-webhook.example": no endpoints'
    condition = {"type": "Progressing", "status": "False", "reason": "ReplicaSetCreateError", "message": message}
    found = answers(workload("Deployment", status={"conditions": [condition]}), kind="Deployment")[0]
    assert found.finding == "webhook-unreachable"


def test_finished_pod_that_a_finalizer_keeps() -> None:
    kept = bound(phase="Succeeded")
    kept["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/archive"]}
    found = answers(kept, node())[0]
    assert found.finding == "finalizer"
    assert "example.com/archive" in found.cause


def test_rejected_pod_of_a_complete_job() -> None:
    job = workload("Job", "batch/v1", status={"conditions": [{"type": "Complete", "status": "True"}]})
    status = {"reason": "UnexpectedAdmissionError", "message": "Allocate failed due to no healthy devices present"}
    rejected = bound(phase="Failed", states=[], status=status, owner=("Job", "main"))
    found = answers(rejected, job, node())[0]
    assert "Job main has completed" in found.cause
    assert str(found.remedy) == "kubectl delete pod main -n team-a"


def test_crash_names_class_of_the_plugin() -> None:
    ended = state(ready=False, state={"terminated": {"exitCode": 1, "reason": "Error"}})
    stack = plugin(on=("mps-1",), with_manager=False, runtimeClassName="nvidia")
    found = answers(bound(states=[ended]), node(), stack)[0]
    assert "the device plugin runs under RuntimeClass nvidia, and the pod under none" in found.evidence


def test_configuration_of_plugin_precedes_labels_of_node() -> None:
    stack = plugin(on=("mps-1",), with_manager=False)
    assert [one.finding for one in answers(bound(spec=CLASS), node(), stack)] == ["nothing-wrong"]
    assert [one.finding for one in answers(bound(spec=CLASS), node())] == ["no-daemon"]
