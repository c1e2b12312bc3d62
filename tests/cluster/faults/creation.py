"""Workloads whose pods are not created."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.faults.fault import Asked, Fault, event, observed
from tests.cluster.faults.guards import CALLED, GUARDED, ORPHANED, POLICED
from tests.cluster.harness.manifests import GPU, container, deployment, pod_spec

if TYPE_CHECKING:
    from typing import Any

    from tests.cluster.harness.api import Object

_LABELS = {"app": "main"}


def _workload(kind: str, *containers: Object, **spec: Any) -> Object:
    """A workload `main` of one pod."""
    template = {"metadata": {"labels": _LABELS}, "spec": pod_spec(*containers, **spec)}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        return {"kind": kind, "metadata": {"name": "main"}, "spec": {"template": template}}
    body: Object = {"selector": {"matchLabels": _LABELS}, "template": template}
    if kind == "StatefulSet":
        body["serviceName"] = "main"
    return {"kind": kind, "metadata": {"name": "main"}, "spec": body}


def _not_created(
    name: str, expected: str, kind: str, text: str, *containers: Object, rule: tuple[Object, ...] = (), **spec: Any
) -> Fault:
    """A workload whose controller reports that the API server refuses its pods, with the object that refuses them."""
    objects = (*rule, _workload(kind, *containers, **spec))
    return Fault(name, expected, Asked(kind.lower(), "main"), objects, event("FailedCreate", text))


def _guarded(name: str, expected: str, text: str, label: dict[str, str], *containers: Object) -> Fault:
    """A Deployment in a namespace in which an admission webhook or policy applies."""
    objects = (deployment("main", *containers),)
    return Fault(name, expected, Asked("deployment", "main"), objects, event("FailedCreate", text), labels=label)


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
    _guarded("denied-by-policy", "denied-by-other", "ValidatingAdmissionPolicy", POLICED),
    _guarded("webhook-unreachable", "webhook-unreachable", "failed calling webhook", ORPHANED),
    _not_created("quota", "quota", "Job", "exceeded quota", rule=(_QUOTA,)),
    _not_created("limit-range", "limit-range", "StatefulSet", "maximum memory", _LARGE, rule=(_RANGE,)),
    Fault(
        "pod-security",
        "pod-security",
        Asked("deployment", "main"),
        (deployment("main", container(), hostIPC=True),),
        event("FailedCreate", "violates PodSecurity"),
        labels={"pod-security.kubernetes.io/enforce": "baseline"},
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
        Asked("deployment", "main"),
        (deployment("main", replicas=0),),
        observed("Deployment", "main"),
    ),
    Fault(
        "paused",
        "paused",
        Asked("deployment", "main"),
        ({**deployment("main"), "spec": {**deployment("main")["spec"], "paused": True}},),
        observed("Deployment", "main"),
    ),
)
