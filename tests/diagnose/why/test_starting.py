"""Pods that the kubelet rejects, and pods that have a node and do not start."""

from __future__ import annotations

import pytest

from tests.diagnose.cluster_objects import Object
from tests.diagnose.why.recorded import Recorded, ask, bound, causes, event, node, state

_SHARED = (
    "invalid allocation request for 'nvidia.com/gpu': invalid request: maximum request size for shared resources is 1"
)
_NO_SMI = 'failed to create containerd task: exec: "nvidia-smi": executable file not found in $PATH'


@pytest.mark.parametrize(
    ("reason", "message", "expected"),
    [
        ("UnexpectedAdmissionError", f"Allocate failed due to rpc error: {_SHARED}", "more-than-one-replica"),
        ("UnexpectedAdmissionError", "request for 'nvidia.com/gpu: 2' too large", "more-than-one-replica"),
        (
            "UnexpectedAdmissionError",
            "requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0",
            "devices-unavailable",
        ),
        (
            "UnexpectedAdmissionError",
            "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu",
            "devices-unavailable",
        ),
        ("UnexpectedAdmissionError", "Allocate failed due to rpc error: out of cheese", "unexpected-admission"),
        ("TopologyAffinityError", "Resources cannot be allocated", "unexpected-admission"),
        ("NodeAffinity", "Predicate NodeAffinity failed", "node-affinity-changed"),
        ("OutOfcpu", "Node didn't have enough resource: cpu", "out-of-resources"),
        ("OutOfnvidia.com/gpu", "Node didn't have enough resource", "out-of-resources"),
        ("NodePorts", "Predicate NodePorts failed", "host-port"),
        ("Evicted", "The node was low on resource: memory.", "evicted"),
        ("NodeLost", "", "node-lost"),
        ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline", "deadline-exceeded"),
    ],
)
def test_failed_pod_has_reason(reason: str, message: str, expected: str) -> None:
    status = {"reason": reason, "message": message}
    found = ask(Recorded(bound(phase="Failed", states=[], status=status)))
    assert [one.finding for one in found.causes] == [expected]
    assert found.state == reason
    assert not message or any(message in text for text in found.causes[0].evidence)


@pytest.mark.parametrize("reason", ["PreemptionByScheduler", "EvictionByEvictionAPI"])
def test_disrupted_pod_was_evicted(reason: str) -> None:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "preempting"}
    assert causes(bound(phase="Failed", states=[], status={"conditions": [condition]})) == ["evicted"]


@pytest.mark.parametrize(
    ("reason", "message", "expected"),
    [
        ("ErrImagePull", "manifest unknown", "image"),
        ("ImagePullBackOff", "Back-off pulling image", "image"),
        ("InvalidImageName", "couldn't parse image name", "image"),
        ("CreateContainerConfigError", 'configmap "settings" not found', "container-config"),
        ("RunContainerError", _NO_SMI, "driver-not-injected"),
        (
            "CreateContainerError",
            "nvidia-container-cli: initialization error: driver not loaded",
            "driver-not-injected",
        ),
        ("RunContainerError", "nvml error: driver/library version mismatch: unknown", "cuda-driver"),
        ("RunContainerError", "unresolvable CDI devices management.nvidia.com/gpu=GPU-1", "driver-not-injected"),
        ("RunContainerError", 'exec: "train": executable file not found in $PATH', "container-start"),
    ],
)
def test_waiting_container_has_reason(reason: str, message: str, expected: str) -> None:
    waiting = {"waiting": {"reason": reason, "message": message}}
    found = ask(Recorded(bound(phase="Pending", states=[state(state=waiting, ready=False)]), node()))
    assert [one.finding for one in found.causes] == [expected]
    assert found.state == reason


def test_missing_object_is_to_create() -> None:
    waiting = {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "key" not found'}}
    (cause,) = ask(Recorded(bound(phase="Pending", states=[state(state=waiting)]), node())).causes
    assert str(cause.remedy).startswith("create secret key in namespace team-a")


def test_start_error_in_crash_loop_is_no_exit_code() -> None:
    ended = {"terminated": {"exitCode": 128, "reason": "StartError", "message": _NO_SMI}}
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting"}}
    failed = event("Failed", f"Error: {_NO_SMI}")
    again = state(state=waiting, lastState=ended, restartCount=2, ready=False)
    assert causes(bound(states=[again]), node(), failed)[:1] == ["driver-not-injected"]


@pytest.mark.parametrize(
    ("reason", "message", "expected", "remedy"),
    [
        (
            "FailedMount",
            'MountVolume.SetUp failed for volume "p" : hostPath type check failed: /run/nvidia/mps is not a directory',
            "mount-failed",
            "make the chart deploy the daemon",
        ),
        (
            "FailedMount",
            'MountVolume.SetUp failed for volume "s" : configmap "s" not found',
            "mount-failed",
            "configmap s",
        ),
        ("FailedAttachVolume", "Multi-Attach error", "mount-failed", "FILE"),
        (
            "FailedCreatePodSandBox",
            'Failed to create pod sandbox: no runtime for "nvidia" is configured',
            "runtime-handler-missing",
            "toolkit",
        ),
        ("FailedCreatePodSandBox", "failed to setup network for sandbox", "sandbox", "describe node mps-1"),
    ],
)
def test_event_before_first_container(reason: str, message: str, expected: str, remedy: str) -> None:
    creating = {"waiting": {"reason": "ContainerCreating"}}
    starting = bound(phase="Pending", states=[state(state=creating, ready=False)])
    (cause,) = ask(Recorded(starting, node(), event(reason, message))).causes
    assert cause.finding == expected
    assert remedy in str(cause.remedy)


def test_reason_of_mount_precedes_repeated_wait() -> None:
    repeated = event("FailedMount", "Unable to attach or mount volumes", lastTimestamp="2026-01-01T00:05:00Z")
    detailed = event("FailedMount", 'MountVolume.SetUp failed for volume "s" : secret "s" not found')
    starting = bound(phase="Pending", states=[state(state={"waiting": {"reason": "ContainerCreating"}})])
    (cause,) = ask(Recorded(starting, node(), repeated, detailed)).causes
    assert 'secret "s" not found' in cause.evidence[0]


def test_pod_that_starts_without_trouble_has_nothing_wrong() -> None:
    creating = {"waiting": {"reason": "ContainerCreating"}}
    starting = bound(phase="Pending", states=[state(state=creating, ready=False)])
    (cause,) = ask(Recorded(starting, node(), event("Pulling", "Pulling image"))).causes
    assert cause.finding == "nothing-wrong"
    assert "Pulling image" in cause.evidence[-1]


def test_events_of_earlier_pod_of_same_name_do_not_count() -> None:
    old = event("FailedMount", "Unable to attach or mount volumes")
    old["involvedObject"]["uid"] = "other"
    starting = bound(phase="Pending", states=[state(state={"waiting": {"reason": "ContainerCreating"}})])
    assert causes(starting, node(), old) == ["nothing-wrong"]


@pytest.mark.parametrize("broken", [{"status": "x"}, {"spec": []}, {"status": {"containerStatuses": [1, {}]}}])
def test_malformed_pod_gets_an_answer(broken: Object) -> None:
    assert len(causes({**bound(), **broken}, node())) >= 1


def test_driver_that_is_too_old_is_not_a_missing_runtime_class() -> None:
    said = "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8"
    waiting = state(state={"waiting": {"reason": "CreateContainerError", "message": said}}, ready=False)
    (cause,) = ask(Recorded(bound(phase="Pending", states=[waiting]), node())).causes
    assert cause.finding == "cuda-driver"
    assert "runtimeClassName" not in str(cause.remedy)
