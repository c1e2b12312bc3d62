"""Workloads whose pods are not created."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.faults.fault import Fault, event, observed
from tests.cluster.faults.guards import CALLED, GUARDED, ORPHANED
from tests.cluster.harness.manifests import GPU, container, deployment, pod_spec
from tests.cluster.workloads import holding

if TYPE_CHECKING:
    from typing import Any

    from tests.cluster.harness.api import Object


def _not_created(
    name: str, expected: str, kind: str, text: str, *containers: Object, rule: tuple[Object, ...] = (), **spec: Any
) -> Fault:
    """A workload whose controller reports that the API server refuses its pods, with the object that refuses them."""
    objects = (*rule, holding(kind, pod_spec(*containers, **spec)))
    return Fault(name, expected, objects, event("FailedCreate", text), kind=kind.lower())


def _guarded(name: str, expected: str, text: str, label: dict[str, str], *containers: Object) -> Fault:
    """A Deployment in a namespace in which an admission webhook or policy applies."""
    objects = (deployment("main", *containers),)
    return Fault(name, expected, objects, event("FailedCreate", text), kind="deployment", labels=label)


_QUOTA = {"kind": "ResourceQuota", "metadata": {"name": "gpus"}, "spec": {"hard": {f"requests.{GPU}": "0"}}}
_RANGE = {
    "kind": "LimitRange",
    "metadata": {"name": "small"},
    "spec": {"limits": [{"type": "Container", "max": {"memory": "64Mi"}}]},
}
_LARGE = container(resources={"limits": {GPU: 1, "memory": "1Gi"}})

FAULTS = (
    _guarded("denied-by-webhook", "denied-by-webhook", "GPS001", GUARDED, container(gpus=2)),
    _guarded("denied-by-neighbour", "denied-by-other", "cost centre", CALLED),
    _guarded("webhook-unreachable", "webhook-unreachable", "failed calling webhook", ORPHANED),
    _not_created("quota", "quota", "Job", "exceeded quota", rule=(_QUOTA,)),
    _not_created("limit-range", "limit-range", "StatefulSet", "maximum memory", _LARGE, rule=(_RANGE,)),
    Fault(
        "pod-security",
        "pod-security",
        (deployment("main", container(), hostIPC=True),),
        event("FailedCreate", "violates PodSecurity"),
        labels={"pod-security.kubernetes.io/enforce": "baseline"},
        kind="deployment",
    ),
    _not_created(
        "runtime-class-missing", "runtime-class-missing", "StatefulSet", "RuntimeClass", runtimeClassName="nvidia-cdi"
    ),
    _not_created(
        "service-account-missing",
        "service-account-missing",
        "DaemonSet",
        "service account",
        serviceAccountName="trainer",
        nodeSelector={"pool": "roomy"},
    ),
    _not_created(
        "priority-class-missing", "priority-class-missing", "Job", "PriorityClass", priorityClassName="research"
    ),
    Fault(
        "scaled-to-zero",
        "scaled-to-zero",
        (deployment("main", replicas=0),),
        observed,
        kind="deployment",
    ),
    Fault(
        "paused",
        "paused",
        ({**deployment("main"), "spec": {**deployment("main")["spec"], "paused": True}},),
        observed,
        kind="deployment",
    ),
)
