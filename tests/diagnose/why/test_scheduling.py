"""Pods that wait for a node, a volume, a queue or a scheduler."""

from __future__ import annotations

import pytest

from tests.diagnose.cluster_objects import GPU, Object, container, mps_node, pod
from tests.diagnose.why.recorded import Recorded, ask, causes, event, unscheduled
from webhook.diagnose.why.scheduling import reasons
from webhook.policy.placement.cluster_objects import Node, Taint

FULL = f"0/2 nodes are available: 1 Insufficient {GPU}, 1 node(s) had untolerated taint {{team: research}}."
BUSY = "0/2 nodes are available: 2 Insufficient cpu."
HOLDER = pod("train", container("main", 4), node="mps-1", namespace="team-b")


def test_held_replicas_name_holders() -> None:
    (cause,) = ask(Recorded(unscheduled(FULL), HOLDER), nodes=[mps_node("mps-1")]).causes
    assert cause.finding == "replicas-held"
    assert cause.evidence[0] == "node mps-1: 4 of 4 held by team-b/train (4)"


@pytest.mark.parametrize(
    ("nodes", "expected", "words"),
    [
        ([], "resource-not-offered", "no node offers nvidia.com/gpu"),
        ([mps_node("a", 0)], "resource-not-ready", 'offers 0 of "nvidia.com/gpu"'),
    ],
)
def test_facts_about_nodes_decide(nodes: list[Node], expected: str, words: str) -> None:
    (cause,) = ask(Recorded(unscheduled(FULL)), nodes=nodes).causes
    assert cause.finding == expected
    assert words in cause.cause


def test_tolerations_of_settings_do_not_count_for_pod_that_lacks_them() -> None:
    found = causes(unscheduled(FULL), nodes=[mps_node("a", 4, Taint("nvidia.com/gpu", "NoSchedule"))])
    assert found == ["taint"]


def test_affinity_that_excludes_gpu_nodes() -> None:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    (cause,) = ask(Recorded(unscheduled(FULL, affinity=affinity)), nodes=[mps_node("a")]).causes
    assert cause.finding == "node-selector"
    assert "pool" in cause.cause


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (BUSY, "other-resources"),
        (
            "0/2 nodes are available: 1 Too many pods, 1 node(s) didn't match Pod's node affinity/selector.",
            "other-resources",
        ),
        ("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.", "volume"),
        ('0/1 nodes are available: persistentvolumeclaim "data" not found.', "volume"),
        ("0/1 nodes are available: 1 cannot allocate all claims.", "resource-claim"),
        ('0/1 nodes are available: resourceclaim "gpu" not found.', "resource-claim"),
        ("0/2 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.", "host-port"),
        ("0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.", "pod-affinity"),
        (
            "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match pod topology spread "
            "constraints (missing required label).",
            "pod-affinity",
        ),
    ],
)
def test_scheduler_decides_where_a_node_has_room(message: str, expected: str) -> None:
    assert causes(unscheduled(message), nodes=[mps_node("a")]) == [expected]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.", "node-selector"),
        ("0/2 nodes are available: 2 node(s) had untolerated taint {team: research}.", "taint"),
        ("0/2 nodes are available: 2 node(s) had untolerated taint(s).", "taint"),
        (
            "0/2 nodes are available: 2 node(s) had untolerated taint {node.kubernetes.io/not-ready: }.",
            "node-not-ready",
        ),
        ("0/2 nodes are available: 2 node(s) were unschedulable.", "node-not-ready"),
        ("waiting for quorum", "other-resources"),
    ],
)
def test_message_decides_for_pod_without_gpu(message: str, expected: str) -> None:
    assert causes(unscheduled(message, container("main", 0))) == [expected]


def test_event_replaces_missing_condition() -> None:
    waiting = pod("main", container("main", 0))
    assert causes(waiting, event("FailedScheduling", BUSY)) == ["other-resources"]


@pytest.mark.parametrize("name", ["", "kai-scheduler"])
def test_pod_that_no_scheduler_looked_at(name: str) -> None:
    (cause,) = ask(Recorded(pod("main", spec={"schedulerName": name}))).causes
    assert cause.finding == "no-scheduler"
    assert (name or "default-scheduler") in cause.cause


def test_pod_that_scheduler_does_not_queue_before_its_claim() -> None:
    claims = [{"name": "gpu", "resourceClaimName": "gpu-of-main"}]
    (cause,) = ask(Recorded(pod("main", container("main", 0), spec={"resourceClaims": claims}))).causes
    assert cause.finding == "resource-claim"
    assert "gpu-of-main" in cause.cause


@pytest.mark.parametrize(("gate", "expected"), [("example.com/quota", "gated"), ("kueue.x-k8s.io/admission", "queued")])
def test_gates(gate: str, expected: str) -> None:
    labels = {"kueue.x-k8s.io/queue-name": "team"}
    gated = pod("main", spec={"schedulingGates": [{"name": gate}]})
    gated["metadata"]["labels"] = labels
    assert causes(gated) == [expected]


GANG = "waiting for minCount pods from a gang to appear in scheduling queue"
POLICY = {"schedulingPolicy": {"gang": {"minCount": 4}}}


@pytest.mark.parametrize(
    ("group", "words", "remedy"),
    [
        (POLICY, "the scheduler places at least 4 pods of PodGroup train at once, and 2 exist", "describe podgroups."),
        ({"schedulingPolicy": {"basic": {}}}, "the scheduler waits for the PodGroup train", "describe podgroups."),
        (None, "the PodGroup train, of which the pod is, does not exist", "create it, or remove schedulingGroup"),
    ],
)
def test_pod_that_waits_for_its_gang(group: Object | None, words: str, remedy: str) -> None:
    spec = {"schedulingGroup": {"podGroupName": "train"}}
    waits = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": GANG}
    gang = [pod(name, spec=spec, status={"phase": "Pending", "conditions": [waits]}) for name in ("main", "second")]
    kind = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "spec": group or POLICY}
    found = kind | {"metadata": {"name": "other" if group is None else "train", "namespace": "team-a"}}
    (cause,) = ask(Recorded(*gang, pod("stranger"), found), nodes=[mps_node("a")]).causes
    assert (cause.finding, cause.cause[: len(words)], remedy in str(cause.remedy)) == ("gang", words, True)
    assert cause.evidence == [f"scheduler: {GANG}"]


def test_message_splits_into_reasons() -> None:
    found = reasons(
        "0/6 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b, c}, 3 Insufficient "
        f"{GPU}. no new claims to deallocate, preemption: 0/6 nodes are available: 6 Preemption is not helpful."
    )
    assert [(one.nodes, one.cause, one.resource) for one in found] == [
        (1, "other-resources", ""),
        (2, "taint", ""),
        (3, "", GPU),
    ]


def test_hostile_message_is_cut() -> None:
    found = ask(Recorded(unscheduled("0/1 nodes are available: " + "1 x, " * 200_000)))
    assert all(len(text) <= 1024 for one in found.as_data()["causes"] for text in one["evidence"])
