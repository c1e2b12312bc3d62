"""Pods that the kubelet rejects: by the device plugin's rules, or because the node no longer takes them."""

from __future__ import annotations

from tests.cluster.faults.fault import Fault, of_pod, phase
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.manifests import GPU, container, pod

_REJECTED = "UnexpectedAdmissionError"

FAULTS = (
    of_pod(
        "two-replicas",
        "more-than-one-replica",
        phase("Failed", _REJECTED, "maximum request size"),
        container(gpus=2),
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
