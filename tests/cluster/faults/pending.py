"""Pods that wait for the scheduler, a queue, or a volume."""

from __future__ import annotations

from tests.cluster.faults.fault import Fault, of_pod, phase, unscheduled
from tests.cluster.faults.pools import HELD, pool
from tests.cluster.harness.manifests import GPU, STRATEGY, container, job, labelled, pod

_INSUFFICIENT = unscheduled(f"Insufficient {GPU}")
_HOSTNAME = "kubernetes.io/hostname"
_TRAINS = {"matchLabels": {"app": "train"}}
_APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": _TRAINS, "topologyKey": _HOSTNAME}]
    }
}
_DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
_CLAIM = {
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}

FAULTS = (
    Fault(
        "replicas-held",
        "replicas-held",
        (*(pod(f"train-{number}", **pool("held")) for number in range(HELD)), pod("main", **pool("held"))),
        _INSUFFICIENT,
    ),
    of_pod("resource-misspelled", "resource-not-offered", unscheduled("gpus"), container(resource=f"{GPU}s")),
    of_pod("amount-too-large", "amount-too-large", _INSUFFICIENT, container(gpus=64)),
    of_pod("node-selector", "node-selector", unscheduled("selector"), **pool("no-such-pool")),
    of_pod("taint", "taint", unscheduled("taint"), **pool("tainted")),
    of_pod("cordoned", "node-not-ready", unscheduled("unschedulable"), **pool("cordoned")),
    of_pod(
        "cpu",
        "other-resources",
        unscheduled("Insufficient cpu"),
        container(resources={"limits": {GPU: 1, "cpu": "64"}}),
        **pool("roomy"),
    ),
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
    of_pod("no-scheduler", "no-scheduler", phase("Pending"), schedulerName="kai-scheduler"),
    of_pod(
        "claim-missing",
        "resource-claim",
        phase("Pending"),
        container(gpus=0),
        resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}],
    ),
    Fault(
        "resource-not-ready",
        "resource-not-ready",
        (pod("main", nodeSelector={STRATEGY: "mps"}),),
        _INSUFFICIENT,
        state="plugin-stopped",
    ),
)
