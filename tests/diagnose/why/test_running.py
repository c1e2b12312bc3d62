"""Pods that run, or crash, with and without MPS."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.cluster_objects import Object, container, pod
from tests.diagnose.why.recorded import Recorded, ask, bound, causes, daemon, event, node, state
from tests.diagnose.why.site import plugin as a_plugin

PIPE = "/mps/nvidia.com/gpu/pipe"
VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
EMPTY = {"volumes": [{"name": "scratch", "emptyDir": {}}]}


def over(path: str) -> Object:
    return container(volumeMounts=[{"name": "scratch", "mountPath": path}])


def test_client_of_ready_daemon_is_well() -> None:
    (cause,) = ask(Recorded(bound(), node(), daemon())).causes
    assert cause.finding == "nothing-wrong"
    assert cause.evidence == [
        "node mps-1 shares its cards: mps",
        "its MPS control daemon is ready: pod gpu/mps-daemon",
    ]


@pytest.mark.parametrize("others", [[], [daemon(ready=False)], [daemon(at="mps-2")]])
def test_node_without_ready_daemon(others: list[Object]) -> None:
    assert causes(bound(), node(), *others) == ["no-daemon"]


def test_daemon_of_bottlerocket_is_no_pod() -> None:
    system = node()
    system["status"]["nodeInfo"] = {"osImage": "Bottlerocket OS 1.40.0"}
    assert causes(bound(), system) == ["nothing-wrong"]


@pytest.mark.parametrize(
    ("one", "spec", "expected"),
    [
        (over(PIPE), EMPTY, "pipe-hidden"),
        (over("/dev/shm"), EMPTY, "shared-memory-hidden"),  # noqa: S108
        (container(env=[{"name": VARIABLE, "value": "/tmp/nvidia-mps"}]), {}, "pipe-directory"),  # noqa: S108
        (container("main", 0, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]), {}, "no-replica-asked"),
    ],
)
def test_pod_hides_mps_from_itself(one: Object, spec: Object, expected: str) -> None:
    assert causes(bound(one, spec=spec), node(), daemon()) == [expected]


def test_injected_mount_hides_nothing() -> None:
    volume = {"name": "gpushare-mps-nvidia-com-gpu", "hostPath": {"path": f"/run/nvidia{PIPE}", "type": ""}}
    mount = {"name": volume["name"], "mountPath": PIPE}
    client = container(env=[{"name": VARIABLE, "value": PIPE}], volumeMounts=[mount])
    assert causes(bound(client, spec={"volumes": [volume]}), node(), daemon()) == ["nothing-wrong"]
    assert causes(bound(client, spec={"volumes": [volume]}), node(strategy="time-slicing")) == ["node-not-mps"]


@pytest.mark.parametrize("strategy", ["time-slicing", "none"])
def test_pod_without_mps_on_node_without_mps_is_well(strategy: str) -> None:
    assert causes(bound(), node(strategy=strategy)) == ["nothing-wrong"]


def test_client_of_other_user() -> None:
    own = bound(spec={"securityContext": {"runAsUser": 2000}})
    other = pod("first", node="mps-1", spec={"securityContext": {"runAsUser": 1000}})
    (cause,) = ask(Recorded(own, other, node(), daemon())).causes
    assert cause.finding == "other-user"
    assert cause.evidence == ["pod team-a/first uses MPS as user 1000"]


def test_unknown_user_is_no_other_user() -> None:
    own = bound(spec={"securityContext": {"runAsUser": 2000}})
    assert causes(own, pod("first", node="mps-1"), node(), daemon()) == ["nothing-wrong"]


@pytest.mark.parametrize("ready", ["False", "Unknown"])
def test_node_that_is_not_ready_is_lost(ready: str) -> None:
    assert causes(bound(), node(ready=ready), daemon()) == ["node-lost"]


def test_node_that_does_not_exist_is_lost() -> None:
    assert causes(bound())[0] == "node-lost"


def ended(code: int, reason: str = "Error", **fields: Any) -> Object:
    return {"terminated": {"exitCode": code, "reason": reason, **fields}}


CRASHING = {"waiting": {"reason": "CrashLoopBackOff"}}


@pytest.mark.parametrize(
    ("last", "expected"),
    [(ended(137, "OOMKilled"), "out-of-memory-killed"), (ended(3), "exit-code"), (ended(139), "exit-code")],
)
def test_crash_loop(last: Object, expected: str) -> None:
    crashed = bound(states=[state(state=CRASHING, lastState=last, restartCount=4, ready=False)])
    found = ask(Recorded(crashed, node(), daemon()))
    assert [one.finding for one in found.causes] == [expected]
    assert found.state == "CrashLoopBackOff"


def test_kill_without_reason_is_for_memory_where_that_is_limited() -> None:
    limited = container("main")
    limited["resources"]["limits"]["memory"] = "16Mi"
    crashed = bound(limited, states=[state(state=ended(137), restartCount=3, ready=False)])
    (cause,) = ask(Recorded(crashed, node(), daemon())).causes
    assert (cause.finding, "probably" in cause.cause) == ("out-of-memory-killed", True)
    assert causes(crashed, node(), daemon(), event("Killing", "Stopping container main")) == ["exit-code"]


def test_init_container_that_fails() -> None:
    first = state("download", state=CRASHING, lastState=ended(1), restartCount=2, ready=False)
    waiting = state(state={"waiting": {"reason": "PodInitializing"}}, ready=False)
    crashed = bound(phase="Pending", states=[waiting], status={"initContainerStatuses": [first]})
    (cause,) = ask(Recorded(crashed, node(), daemon())).causes
    assert cause.finding == "exit-code"
    assert "init container download ends with exit code 1" in cause.cause


def test_crash_of_past_does_not_count_for_ready_container() -> None:
    again = bound(states=[state(lastState=ended(1), restartCount=1)])
    assert causes(again, node(), daemon()) == ["nothing-wrong"]


@pytest.mark.parametrize("code", [0, 137])
def test_probe_that_fails(code: int) -> None:
    again = bound(states=[state(lastState=ended(code), restartCount=1, ready=False)])
    killed = event("Killing", "Container main failed liveness probe, will be restarted", type="Normal")
    assert causes(again, node(), daemon(), killed) == ["liveness"]


LOGS = {
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB": "cuda-out-of-memory",
    "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable": "cuda-busy",
    "(error code all CUDA-capable devices are busy or unavailable)!": "cuda-busy",
    "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable": "cuda-busy",
    "RuntimeError: CUDA error: no kernel image is available for execution on the device": "cuda-no-kernel",
    "ValueError: Free memory on device (5/9 GiB) is less than desired GPU memory utilization (0.9, 8 GiB).": (
        "gpu-memory-utilization"
    ),
    "error code=46(cudaErrorDevicesUnavailable)": "cuda-busy",
    "CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server": "cuda-mps-connection",
    "cudaSetDevice failed: 806 (cudaErrorMpsRpcFailure)": "cuda-mps-connection",
    "cudaMalloc returned error code 805": "cuda-mps-connection",
    "CUDA_ERROR_MPS_SERVER_NOT_READY: MPS server is not ready to accept new MPS client requests": "cuda-mps-not-ready",
    "the hardware resources required to create MPS client have been exhausted": "cuda-mps-clients",
    "CUDA error 809: the hardware resources required to support device connections": "cuda-mps-clients",
    "RuntimeError: CUDA error: no CUDA-capable device is detected": "cuda-no-device",
    "RuntimeError: No CUDA GPUs are available": "cuda-no-device",
    "CUDA driver version is insufficient for CUDA runtime version": "cuda-driver",
    "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory": "cuda-driver",
    "the MPS client has been terminated by the server": "cuda-mps-terminated",
    "RuntimeError: CUDA error: an illegal memory access was encountered": "cuda-illegal-address",
    "NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 7000": "nccl-duplicate-gpu",
    "NCCL WARN Multiple Ranks are using the same GPU/Partition.": "nccl-duplicate-gpu",
}


@pytest.mark.parametrize("line", LOGS)
def test_error_in_log_of_crashed_container(line: str) -> None:
    crashed = bound(phase="Failed", states=[state(state=ended(1), ready=False)])
    recorded = Recorded(crashed, logs={"main": f"loading\n{line}\nexit\n"})
    found = ask(recorded, wants_log=True)
    assert [one.finding for one in found.causes] == [LOGS[line], "exit-code"]
    assert line in found.causes[0].evidence[0]
    assert recorded.asked_logs == [("main", False)]


def test_log_of_predecessor_is_read_in_crash_loop() -> None:
    crashed = bound(states=[state(state=CRASHING, lastState=ended(1), restartCount=1, ready=False)])
    recorded = Recorded(crashed, node(), daemon(), logs={"main": "CUDA out of memory"})
    assert ask(recorded, wants_log=True).causes[0].finding == "cuda-out-of-memory"
    assert recorded.asked_logs == [("main", True)]


@pytest.mark.parametrize("line", ["CUDA warmup: 100 steps", "batch 46 of 805", "Service unavailable", "x" * 1_000_000])
def test_other_lines_show_no_error(line: str) -> None:
    crashed = bound(phase="Failed", states=[state(state=ended(1), ready=False)])
    assert causes(crashed, logs={"main": line}) == ["exit-code"]


def test_succeeded_pod_has_completed() -> None:
    assert causes(bound(phase="Succeeded", states=[state(state=ended(0, "Completed"), ready=False)])) == ["completed"]


def test_pod_that_is_not_ready_is_not_said_to_be_well() -> None:
    unready = bound(states=[state(state={"running": {}}, ready=False)])
    (cause,) = ask(Recorded(unready, node(), daemon(), event("Unhealthy", "Readiness probe failed"))).causes
    assert cause.cause == "the readiness probe of container main fails, so that the pod is not ready"
    assert "event Unhealthy: Readiness probe failed" in cause.evidence


def test_pod_that_is_being_deleted_shows_its_finalizers() -> None:
    ending = bound()
    ending["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/hold"]}
    (cause,) = ask(Recorded(ending, node(), daemon())).causes
    assert cause.cause == "the pod is being deleted, and has not ended yet"
    assert "metadata.finalizers: example.com/hold" in cause.evidence


def test_daemon_is_only_a_pod_of_a_daemon_set() -> None:
    """A tenant may write the name of the container."""
    written = daemon()
    del written["metadata"]["ownerReferences"]
    assert [one.finding for one in ask(Recorded(bound(), node(), written)).causes][:1] == ["no-daemon"]


def test_daemon_is_no_pod_that_a_tenant_makes() -> None:
    """A ReplicaSet makes none, and a DaemonSet only in a namespace whose stack counts."""
    written = daemon()
    written["metadata"]["ownerReferences"][0]["kind"] = "ReplicaSet"
    plugin = a_plugin(on=("mps-1",))
    for made in plugin:
        made["metadata"]["namespace"] = "kube-system"
    assert causes(bound(), node(), written) == ["no-daemon"]
    assert causes(bound(), node(), *plugin, daemon()) == ["no-daemon"]
    own = daemon()
    own["metadata"]["namespace"] = "kube-system"
    assert causes(bound(), node(), *plugin, own) == ["nothing-wrong"]


@pytest.mark.parametrize(
    ("policy", "main", "expected"),
    [
        ("Never", ended(0, "Completed"), "sidecar-runs-on"),
        ("OnFailure", ended(0, "Completed"), "sidecar-runs-on"),
        ("Never", ended(1, "Error"), "sidecar-runs-on"),
        ("OnFailure", ended(1, "Error"), "exit-code"),
        ("Always", ended(0, "Completed"), "nothing-wrong"),
        ("Never", {"running": {}}, "nothing-wrong"),
    ],
)
def test_sidecar_that_keeps_the_pod_of_a_job(policy: str, main: Object, expected: str) -> None:
    states = [state(state=main, ready=False), state("proxy")]
    job = bound(container(), container("proxy", 0), states=states, spec={"restartPolicy": policy})
    cause = ask(Recorded(job, node(), daemon())).causes[0]
    assert cause.finding == expected
    runs_on = "container main has ended, and container proxy runs on" in cause.cause
    assert runs_on is (expected == "sidecar-runs-on")


def test_sidecar_of_a_pod_that_holds_no_gpu_or_is_being_deleted() -> None:
    states = [state(state=ended(0, "Completed"), ready=False), state("proxy")]
    main = container(resource="rdma/hca")
    other = bound(main, container("proxy", 0), states=states, spec={"restartPolicy": "Never"})
    assert causes(other, node(), daemon()) == ["nothing-wrong"]
    ending = bound(container(), container("proxy", 0), states=states, spec={"restartPolicy": "Never"})
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert causes(ending, node(), daemon()) == ["nothing-wrong"]
