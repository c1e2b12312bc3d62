"""Containers that end: killed, failed, or with an error of CUDA in their log; and pods that others ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.cluster.faults.fault import both, deleted, ended, event, of_pod, phase, restarted
from tests.cluster.faults.pools import lose, pool
from tests.cluster.harness.manifests import GPU, container

if TYPE_CHECKING:
    from tests.cluster.faults.fault import Fault, Shows
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


def _set_status(space: Workspace, status: Object) -> None:
    """Report the status of a pod as a kubelet does, once the scheduler has bound it."""
    space.wait_bound("main")
    space.api.patch(f"{space.pods}/main/status", {"status": status})


def _evict(space: Workspace) -> None:
    _set_status(space, {"phase": "Failed", "reason": "Evicted", "message": _EVICTION})


def _lose_node(space: Workspace) -> None:
    """Let a pod run on a node, and the node stop reporting, as the node controller then notes it."""
    state = {"name": "main", "ready": True, "started": True, "restartCount": 0, "image": "train", "imageID": ""}
    running = {"state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
    ready = {"type": "Ready", "status": "True"}
    _set_status(space, {"phase": "Running", "conditions": [ready], "containerStatuses": [{**state, **running}]})
    lose(space.cluster, "lost")


_OUT_OF_MEMORY = """loading the checkpoint
Traceback (most recent call last):
  File "/train.py", line 31, in <module>
    model.to('cuda')
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB of \
which 1.12 GiB is free.
"""
_DUPLICATE = (
    "train-0:29:112 [0] init.cc:943 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 7000"
)


def _logged(name: str, expected: str, log: str, shows: Shows, policy: str) -> Fault:
    """A container that prints the log of a program that met an error of CUDA, and fails."""
    main = container(command=["sh", "-c", f"cat <<'END'\n{log}\nEND\nexit 1"])
    return replace(of_pod(name, expected, shows, main, restartPolicy=policy), logs=True, recorded=True)


FAULTS = (
    of_pod(
        "out-of-memory-killed",
        "out-of-memory-killed",
        ended("OOMKilled"),
        container(command=["sh", "-c", _GROWS], resources={"limits": {GPU: 1, "memory": "16Mi"}}),
        restartPolicy="Never",  # a container that starts again is ready for seconds, and its end is history then
    ),
    of_pod("exit-code", "exit-code", restarted, container(command=["sh", "-c", "exit 3"])),
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
    # The tests of `why` cover the texts of other errors.
    _logged("log-out-of-memory", "cuda-out-of-memory", _OUT_OF_MEMORY, restarted, "Always"),
    _logged("log-duplicate-gpu", "nccl-duplicate-gpu", _DUPLICATE, phase("Failed"), "Never"),
)
