"""Pods that the kubelet rejects: by the device plugin's rules, or because the node no longer takes them."""

from __future__ import annotations

from tests.cluster.faults.fault import Fault, of_pod, phase
from tests.cluster.faults.pools import GPUS, REPLICAS
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.manifests import GPU, container, job, pod

_REJECTED = "UnexpectedAdmissionError"
_TWO = phase("Failed", _REJECTED, "maximum request size")
_SINGLE = job("main", container(gpus=2), backoffLimit=0)
_TOO_MANY = [container(f"worker-{number}") for number in range(GPUS * REPLICAS + 1)]

FAULTS = (
    of_pod("two-replicas", "more-than-one-replica", _TWO, container(gpus=2)),
    Fault("two-replicas-job", "more-than-one-replica", (_SINGLE,), _TWO, kind="job"),
    # A binding without the scheduler, as by one that counts differently.
    of_pod(
        "devices-held",
        "devices-unavailable",
        phase("Failed", _REJECTED, "requested number of devices unavailable"),
        *_TOO_MANY,
        nodeName=NODE,
    ),
    of_pod(
        "node-affinity-changed",
        "node-affinity-changed",
        phase("Failed", "NodeAffinity"),
        nodeName=NODE,
        nodeSelector={"nvidia.com/gpu.sharing-strategy": "none"},
    ),
    of_pod(
        "out-of-cpu",
        "out-of-resources",
        phase("Failed", "OutOfcpu"),
        container(resources={"limits": {GPU: 1, "cpu": "1000"}}),
        nodeName=NODE,
    ),
    Fault(
        "plugin-stopped",
        "devices-unavailable",
        (pod("main", nodeName=NODE),),
        phase("Failed", _REJECTED, "unhealthy"),
        state="plugin-stopped",
    ),
)
