"""Containers that end: killed, failed, or with an error of CUDA in their log; and pods that others ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.cluster.faults.fault import Asked, Fault, both, condition, deleted, ended, event, of_pod, phase, restarted
from tests.cluster.faults.pools import pool, set_ready
from tests.cluster.harness.manifests import GPU, container, pod, pod_spec

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object
    from tests.cluster.harness.workspace import Workspace

_FOR_A_SECOND = {
    "key": "node.kubernetes.io/unreachable",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 1,
}
_FAILING = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}
# containerd registers for the kernel's event after the start, and may see the end of a container before that event: the
# process begins later, and the shell outlives it.
_GROWS = "sleep 2; tail /dev/zero; code=$?; sleep 2; exit $code"
_EVICTION = (
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 81948Ki. Container main was using "
    "9216Mi, request is 0, has larger consumption of memory. "
)


def _job(*containers: Object, **spec: Any) -> Object:
    template = {"spec": pod_spec(*containers, restartPolicy="Never")}
    return {"kind": "Job", "metadata": {"name": "main"}, "spec": {"template": template, **spec}}


def _set_status(space: Workspace, status: Object) -> None:
    """Report the status of a pod as a kubelet does, once the scheduler has bound it."""
    space.wait_pod("main", "to be bound", lambda found: found["spec"].get("nodeName"))
    space.api.patch(f"{space.pods}/main/status", {"status": status})


def _evict(space: Workspace) -> None:
    _set_status(space, {"phase": "Failed", "reason": "Evicted", "message": _EVICTION})


def _lose_node(space: Workspace) -> None:
    """Let a pod run on a node, and the node stop reporting, as the node controller then notes it."""
    state = {"name": "main", "ready": True, "started": True, "restartCount": 0, "image": "train", "imageID": ""}
    running = {"state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
    ready = {"type": "Ready", "status": "True"}
    _set_status(space, {"phase": "Running", "conditions": [ready], "containerStatuses": [{**state, **running}]})
    set_ready(space.cluster, "lost", "Unknown")


def _logged(name: str, expected: str, log: str, *, again: bool = False) -> Fault:
    """A container that prints the log of a program that met an error of CUDA, and fails; `again` and again."""
    script = f"cat <<'END'\n{log}\nEND\nexit 1"
    main = container(command=["sh", "-c", script])
    shows = restarted if again else phase("Failed")
    policy = "Always" if again else "Never"
    return Fault(
        name,
        expected,
        Asked("pod", "main", logs=True),
        (pod("main", main, restartPolicy=policy),),
        shows,
        recorded=True,
    )


def _torch(message: str, call: str = "model.to('cuda')") -> str:
    """The end of the log of a program that uses PyTorch."""
    return (
        f"loading the checkpoint\nTraceback (most recent call last):\n"
        f'  File "/train.py", line 31, in <module>\n    {call}\n{message}\n'
    )


_CUDA = "RuntimeError: CUDA error: "
_HINT = "\nCUDA kernel errors might be asynchronously reported at some other API call."
_CANNOT_OPEN = "cannot open shared object file: No such file or directory"

RECORDED = (
    _logged(
        "log-out-of-memory",
        "cuda-out-of-memory",
        _torch(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
            "39.39 GiB of which 1.12 GiB is free."
        ),
        again=True,
    ),
    _logged(
        "log-busy",
        "cuda-busy",
        _torch(f"{_CUDA}all CUDA-capable devices are busy or unavailable{_HINT}"),
    ),
    _logged(
        "log-busy-of-runtime",
        "cuda-busy",
        "Failed to allocate device vector A (error code all CUDA-capable devices are busy or unavailable)!",
    ),
    _logged(
        "log-connection",
        "cuda-mps-connection",
        _torch(f"{_CUDA}MPS client failed to connect to the MPS control daemon or the MPS server{_HINT}"),
        again=True,
    ),
    _logged(
        "log-remote-call",
        "cuda-mps-connection",
        "cudaSetDevice failed: 806 (cudaErrorMpsRpcFailure): the remote procedural call between the MPS server and the "
        "MPS client failed",
    ),
    _logged(
        "log-not-ready",
        "cuda-mps-not-ready",
        "CUDA_ERROR_MPS_SERVER_NOT_READY: MPS server is not ready to accept new MPS client requests",
    ),
    _logged(
        "log-clients",
        "cuda-mps-clients",
        _torch(f"{_CUDA}the hardware resources required to create MPS client have been exhausted{_HINT}"),
    ),
    _logged(
        "log-connections",
        "cuda-mps-clients",
        "CUDA error 809: the hardware resources required to support device connections have been exhausted",
    ),
    _logged("log-no-device", "cuda-no-device", _torch(f"{_CUDA}no CUDA-capable device is detected{_HINT}")),
    _logged(
        "log-driver-version",
        "cuda-driver",
        "CUDA error 35: CUDA driver version is insufficient for CUDA runtime version",
    ),
    _logged(
        "log-driver-library",
        "cuda-driver",
        _torch(f"ImportError: libcuda.so.1: {_CANNOT_OPEN}", "import torch"),
        again=True,
    ),
    _logged(
        "log-terminated",
        "cuda-mps-terminated",
        _torch(f"{_CUDA}the MPS client has been terminated by the server{_HINT}"),
    ),
    _logged(
        "log-illegal-address",
        "cuda-illegal-address",
        _torch(f"{_CUDA}an illegal memory access was encountered{_HINT}"),
    ),
    _logged(
        "log-duplicate-gpu",
        "nccl-duplicate-gpu",
        "train-0:29:112 [0] init.cc:943 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 7000\n"
        + _torch("torch.distributed.DistBackendError: NCCL error, ncclInvalidUsage: invalid usage"),
    ),
)

FAULTS = (
    of_pod(
        "out-of-memory-killed",
        "out-of-memory-killed",
        ended("OOMKilled"),
        container(command=["sh", "-c", _GROWS], resources={"limits": {GPU: 1, "memory": "16Mi"}}),
    ),
    of_pod("exit-code", "exit-code", restarted, container(command=["sh", "-c", "exit 3"])),
    of_pod(
        "exit-code-of-init",
        "exit-code",
        restarted,
        initContainers=[container("download", gpus=0, command=["false"])],
    ),
    Fault(
        "exit-code-of-job",
        "exit-code",
        Asked("job", "main"),
        (_job(container(command=["false"]), backoffLimit=0),),
        condition("Job", "main", "Failed"),
    ),
    of_pod(
        "liveness",
        "liveness",
        both(event("Killing", "liveness"), restarted),
        container(livenessProbe=_FAILING),
    ),
    of_pod(
        "deadline",
        "deadline-exceeded",
        phase("Failed", "DeadlineExceeded"),
        activeDeadlineSeconds=1,
    ),
    Fault(
        "deadline-of-job",
        "deadline-exceeded",
        Asked("job", "main"),
        (_job(activeDeadlineSeconds=1),),
        condition("Job", "main", "Failed"),
    ),
    replace(
        of_pod("evicted", "evicted", phase("Failed", "Evicted"), **pool("roomy")),
        then=_evict,
        recorded=True,
    ),
    # No kubelet ends the pod that the node controller deletes.
    replace(
        of_pod("node-lost", "node-lost", deleted, tolerations=[_FOR_A_SECOND], **pool("lost")),
        then=_lose_node,
    ),
    *RECORDED,
)
