"""Findings about runtime classes, quotas, pods that were rejected, and mounts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.cluster import FakeCluster
from tests.diagnose.both import put
from tests.diagnose.doctor.asked import examined, found, only
from tests.diagnose.doctor.healthy import (
    PLUGIN,
    STACK,
    TEAM,
    asking,
    pod,
    put_event,
    remove,
)
from webhook.cluster import objects as kinds

# Runtime classes.


def test_runtime_class_that_pods_name_is_missing(cluster: FakeCluster) -> None:
    remove(cluster, kinds.RUNTIME_CLASS, "nvidia")
    finding = only(cluster)
    assert (finding.finding, finding.severity, finding.subject) == (
        "runtime-class-missing",
        "error",
        "RuntimeClass nvidia",
    )
    assert finding.evidence == (f"named by: pod {TEAM}/train", "RuntimeClasses: none")


def made_by(cluster: FakeCluster, kind: kinds.Kind, name: str, above: tuple[str, str]) -> None:
    """Add what stands between pods and their topmost owner."""
    owners = [{"kind": above[0], "name": above[1], "controller": True}]
    put(cluster, kind, {"metadata": {"name": name, "namespace": TEAM, "ownerReferences": owners}})


def test_pods_that_name_a_missing_class_are_counted_by_topmost_owner(cluster: FakeCluster) -> None:
    remove(cluster, kinds.RUNTIME_CLASS, "nvidia")
    remove(cluster, kinds.POD, "train", TEAM)
    made_by(cluster, kinds.REPLICA_SET, "web-1", ("Deployment", "web"))
    made_by(cluster, kinds.JOB, "night-1", ("CronJob", "night"))
    for number in range(5):
        owner = ("ReplicaSet", "web-1") if number else ("Job", "night-1")
        put(cluster, kinds.POD, pod(f"p-{number}", TEAM, owner, runtimeClassName="nvidia", containers=asking()))
    assert only(cluster).evidence[0] == (
        f"named by: CronJob {TEAM}/night (1 pod: p-0), Deployment {TEAM}/web (4 pods: p-1, p-2, p-3 and 1 more)"
    )


def test_runtime_class_of_the_plugin_is_missing(cluster: FakeCluster) -> None:
    cluster.objects[kinds.DAEMON_SET.path(STACK, PLUGIN)]["spec"]["template"]["spec"]["runtimeClassName"] = "gpu"
    finding = only(cluster)
    assert (finding.subject, finding.evidence[0]) == ("RuntimeClass gpu", f"named by: DaemonSet {STACK}/{PLUGIN}")


@pytest.mark.parametrize(
    "message",
    [
        'Error creating: pods "web-" is forbidden: pod rejected: RuntimeClass "gpu" not found',
        'Error creating: runtimeclasses.node.k8s.io "gpu" not found',
    ],
)
def test_runtime_class_of_rejected_pods_is_missing(cluster: FakeCluster, message: str) -> None:
    put_event(cluster, "FailedCreate", message, "web", "ReplicaSet")
    finding = only(cluster)
    assert finding.evidence[0] == f"named by: ReplicaSet {TEAM}/web, whose pods are rejected"
    made_by(cluster, kinds.REPLICA_SET, "web", ("Deployment", "web"))
    assert only(cluster).evidence[0] == f"named by: Deployment {TEAM}/web, whose pods are rejected"
    put(cluster, kinds.RUNTIME_CLASS, {"metadata": {"name": "gpu"}, "handler": "gpu"})
    assert found(cluster) == []


@pytest.mark.parametrize(
    "message",
    [
        'failed to get sandbox runtime: no runtime for "nvidia" is configured',
        "failed to find runtime handler nvidia from runtime list map[]",
    ],
)
def test_handler_is_missing_while_a_pod_waits(cluster: FakeCluster, message: str) -> None:
    put_event(cluster, "FailedCreatePodSandBox", message, "train")
    assert found(cluster) == []
    cluster.objects[kinds.POD.path(TEAM, "train")]["status"]["phase"] = "Pending"
    finding = only(cluster)
    assert (finding.finding, finding.severity, finding.subject) == ("runtime-handler-missing", "warning", "gpu-1")
    assert finding.cause.startswith("the container runtime has no handler nvidia")
    assert finding.evidence == ("nodes: gpu-1", f"waiting for a sandbox: pod {TEAM}/train")


def test_pods_that_wait_for_a_handler_are_counted_by_topmost_owner(cluster: FakeCluster) -> None:
    made_by(cluster, kinds.REPLICA_SET, "web-1", ("Deployment", "web"))
    for name in ("web-1-a", "web-1-b"):
        for handler in ("runtime for nvidia", 'runtime for "nvidia"'):  # one event each
            put_event(cluster, "FailedCreatePodSandBox", f"no {handler} is configured", name)
        waits = pod(name, TEAM, ("ReplicaSet", "web-1"), runtimeClassName="nvidia")
        put(cluster, kinds.POD, waits)["status"] = {"phase": "Pending"}
    assert only(cluster).evidence[1] == f"waiting for a sandbox: Deployment {TEAM}/web (2 pods: web-1-a, web-1-b)"


def test_other_events_are_no_finding(cluster: FakeCluster) -> None:
    put_event(cluster, "FailedCreatePodSandBox", "networkPlugin cni failed: runtime error", "train")
    put_event(cluster, "FailedCreate", "exceeded quota", "web", "ReplicaSet")
    assert found(cluster) == []


# Quotas.


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        (kinds.QUOTA, {"hard": {"limits.nvidia.com/gpu": "2"}}, ["quota-counts-nothing"]),
        (kinds.QUOTA, {"hard": {"requests.nvidia.com/gpu": "2"}}, []),
        (kinds.QUOTA, {"hard": {"pods": "2"}}, []),
        (kinds.QUOTA, {"hard": "malformed, as in a file"}, []),
        (
            kinds.LIMIT_RANGE,
            {"limits": [{"type": "Container", "max": {"nvidia.com/gpu": "1"}}]},
            ["quota-counts-nothing"],
        ),
        (kinds.LIMIT_RANGE, {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}, []),
    ],
)
def test_quotas_and_limit_ranges(cluster: FakeCluster, kind: kinds.Kind, spec: Any, expected: list[str]) -> None:
    put(cluster, kind, {"metadata": {"name": "gpus", "namespace": TEAM}, "spec": spec})
    answer = examined(cluster)
    assert [one.finding for one in answer.findings] == expected
    assert all(f"kubectl -n {TEAM} edit {kind.name} gpus" in str(one.remedy) for one in answer.findings)


# Pods.


def rejected(name: str, owner: tuple[str, str], message: str) -> dict[str, Any]:
    """A pod that ended in UnexpectedAdmissionError."""
    found = pod(name, TEAM, owner)
    return {**found, "status": {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": message}}


def test_rejected_pods_are_counted_by_topmost_owner(cluster: FakeCluster) -> None:
    for replica_set in ("web-1", "web-2"):
        made_by(cluster, kinds.REPLICA_SET, replica_set, ("Deployment", "web"))
        for number in range(3):
            message = "Allocate failed due to maximum request size for shared resources is 1"
            put(cluster, kinds.POD, rejected(f"{replica_set}-{number}", ("ReplicaSet", replica_set), message))
    put(cluster, kinds.POD, rejected("job-1", ("Job", "job"), "Available: 0"))
    first, second = examined(cluster).findings
    assert (first.subject, first.cause) == (f"{TEAM}/Deployment/web", "6 pods ended in UnexpectedAdmissionError")
    assert str(first.remedy).startswith(
        "ask for 1 replica per container in deployment/web, then kubectl -n team delete pods"
    )
    assert second.cause == "1 pod ended in UnexpectedAdmissionError"
    assert str(second.remedy).startswith("the kubelet had no device to give")
    assert "look whether other pods of the owner run, kubectl -n team get job/job, then kubectl -n team delete" in str(
        second.remedy
    )
    assert [one.evidence[1] for one in (first, second)] == ["pods: web-1-0, web-1-1, web-1-2 and 3 more", "pods: job-1"]


def test_rejected_pod_without_an_owner_is_its_own_subject(cluster: FakeCluster) -> None:
    found = rejected("alone", ("Job", "job"), "Available: 0")
    found["metadata"]["ownerReferences"] = []
    put(cluster, kinds.POD, found)
    one = only(cluster)
    assert (one.subject, len(one.evidence)) == (f"{TEAM}/Pod/alone", 1)
    assert "as after a restart of the node or the plugin: kubectl -n team delete pods" in str(one.remedy)


def test_pod_security_refuses_what_the_webhook_injects(cluster: FakeCluster) -> None:
    """As where the API server has a default that the settings do not know."""
    refused = 'pods "web-1" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes (volume "{}")'
    for name in ("gpushare-mps-nvidia-com-gpu", "cache"):
        put_event(cluster, "FailedCreate", refused.format(name), f"of-{name}", "ReplicaSet")
    made_by(cluster, kinds.REPLICA_SET, "of-gpushare-mps-nvidia-com-gpu", ("Deployment", "llm"))
    finding = only(cluster)
    assert (finding.finding, finding.severity, finding.is_of_tenants) == ("pod-security-mount", "warning", True)
    assert finding.evidence == ("pods of: Deployment llm",)
    assert "podSecurity.unlabelled" in str(finding.remedy)
