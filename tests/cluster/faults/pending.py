"""Pods that wait for the scheduler, a queue, or a volume."""

from __future__ import annotations

from tests.cluster.faults.fault import Fault, of_pod, phase, unscheduled
from tests.cluster.faults.pools import HELD, pool
from tests.cluster.harness.manifests import GPU, STRATEGY, container, deployment, job, labelled, pod

_INSUFFICIENT = unscheduled(f"Insufficient {GPU}")
_HOSTNAME = "kubernetes.io/hostname"
_TRAINS = {"matchLabels": {"app": "train"}}
_APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": _TRAINS, "topologyKey": _HOSTNAME}]
    }
}
_SPREAD = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _TRAINS}
_ON_H100 = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-H100"]}]}
            ]
        }
    }
}
_DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
_CLAIM = {
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
_DEVICE = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
_CLAIM_TEMPLATE = {
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "gpu"},
    "spec": {"spec": {"devices": {"requests": [_DEVICE]}}},
}
_KUEUE = "kueue.x-k8s.io"


def _asking(cpu: str = "1", memory: str = "1Mi") -> dict[str, object]:
    return container(resources={"limits": {GPU: 1, "cpu": cpu, "memory": memory}})


FAULTS = (
    Fault(
        "replicas-held",
        "replicas-held",
        (*(pod(f"train-{number}", **pool("held")) for number in range(HELD)), pod("main", **pool("held"))),
        _INSUFFICIENT,
    ),
    Fault(
        "replicas-held-deployment",
        "replicas-held",
        (deployment("main", container(), **pool("held")),),
        _INSUFFICIENT,
        kind="deployment",
    ),
    of_pod("resource-misspelled", "resource-not-offered", unscheduled("gpus"), container(resource=f"{GPU}s")),
    of_pod(
        "resource-renamed",
        "resource-not-offered",
        unscheduled("gpu.shared"),
        container(resource=f"{GPU}.shared"),
    ),
    of_pod("amount-too-large", "amount-too-large", _INSUFFICIENT, container(gpus=64)),
    of_pod("node-selector", "node-selector", unscheduled("selector"), **pool("no-such-pool")),
    of_pod("node-affinity", "node-selector", unscheduled("affinity"), affinity=_ON_H100),
    of_pod("taint", "taint", unscheduled("taint"), **pool("tainted")),
    of_pod("cordoned", "node-not-ready", unscheduled("unschedulable"), **pool("cordoned")),
    of_pod("not-ready", "node-not-ready", unscheduled("taint"), **pool("not-ready")),
    of_pod("cpu", "other-resources", unscheduled("Insufficient cpu"), _asking(cpu="64"), **pool("roomy")),
    of_pod("memory", "other-resources", unscheduled("Insufficient memory"), _asking(memory="64Gi"), **pool("roomy")),
    Fault(
        "too-many-pods",
        "other-resources",
        (pod("first", **pool("crowded")), pod("main", **pool("crowded"))),
        unscheduled("Too many pods"),
    ),
    of_pod("volume-missing", "volume", unscheduled('"data" not found'), volumes=[_DATA]),
    Fault(
        "volume-unbound",
        "volume",
        (_CLAIM, pod("main", volumes=[_DATA])),
        unscheduled("unbound immediate PersistentVolumeClaims"),
    ),
    Fault(
        "anti-affinity",
        "pod-affinity",
        (labelled(pod("first", **pool("roomy")), app="train"), pod("main", affinity=_APART, **pool("roomy"))),
        unscheduled("anti-affinity"),
    ),
    Fault(
        "spread",
        "pod-affinity",
        (labelled(pod("main", topologySpreadConstraints=[_SPREAD]), app="train"),),
        unscheduled("topology spread"),
    ),
    Fault(
        "host-port",
        "host-port",
        tuple(
            pod(name, container(ports=[{"containerPort": 80, "hostPort": 8899}]), **pool("roomy"))
            for name in ("first", "main")
        ),
        unscheduled("free ports"),
    ),
    of_pod("gated", "gated", phase("Pending"), schedulingGates=[{"name": "example.com/quota"}]),
    Fault("suspended", "queued", (job("main", suspend=True),), lambda _: True, kind="job"),
    Fault(
        "queued-pod",
        "queued",
        (
            labelled(
                pod("main", schedulingGates=[{"name": f"{_KUEUE}/admission"}]),
                **{f"{_KUEUE}/queue-name": "team", f"{_KUEUE}/managed": "true"},
            ),
        ),
        phase("Pending"),
    ),
    of_pod("no-scheduler", "no-scheduler", phase("Pending"), schedulerName="kai-scheduler"),
    of_pod(
        "claim-missing",
        "resource-claim",
        phase("Pending"),
        container(gpus=0),
        resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}],
    ),
    Fault(
        "claim-without-device",
        "resource-claim",
        (
            _CLAIM_TEMPLATE,
            pod("main", container(gpus=0), resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}]),
        ),
        unscheduled("device class gpu.nvidia.com"),
    ),
    Fault(
        "resource-not-ready",
        "resource-not-ready",
        (pod("main", nodeSelector={STRATEGY: "mps"}),),
        _INSUFFICIENT,
        state="plugin-stopped",
    ),
)
