"""Pods that wait for a node, a volume, a queue or a scheduler."""

from __future__ import annotations

import pytest

from tests.live.cluster_objects import GPU, Object, container, mps_node, pod
from tests.live.why.recorded import Recorded, ask, causes, event, unscheduled
from webhook.live.why.scheduler_message import reasons
from webhook.policy.placement.cluster_objects import Node, Taint

FULL = f"0/2 nodes are available: 1 Insufficient {GPU}, 1 node(s) had untolerated taint {{team: research}}."
BUSY = "0/2 nodes are available: 2 Insufficient cpu."
RESEARCH = Taint("team", "NoSchedule", "research")
HOLDER = pod("train", container("main", 4), node="mps-1", namespace="team-b")


def test_held_replicas_name_holders() -> None:
    (cause,) = ask(Recorded(unscheduled(FULL), HOLDER), nodes=[mps_node("mps-1")]).causes
    assert cause.cause == "replicas-held"
    assert cause.evidence[0] == "node mps-1: 4 of 4 held by team-b/train (4)"


@pytest.mark.parametrize(
    ("nodes", "expected", "words"),
    [
        ([], "resource-not-offered", "no node offers nvidia.com/gpu"),
        ([mps_node("a", 0)], "resource-not-ready", "offers 0 of nvidia.com/gpu now"),
        ([mps_node("a", 4, RESEARCH)], "taint", "team=research:NoSchedule"),
        ([mps_node("a", 4, Taint("node.kubernetes.io/unschedulable", "NoSchedule"))], "node-not-ready", "a"),
        ([mps_node("a", 4, Taint("node.kubernetes.io/unreachable", "NoExecute"))], "node-not-ready", "a"),
    ],
)
def test_facts_about_nodes_decide(nodes: list[Node], expected: str, words: str) -> None:
    (cause,) = ask(Recorded(unscheduled(FULL)), nodes=nodes).causes
    assert cause.cause == expected
    assert words in cause.summary


def test_tolerations_of_settings_do_not_count_for_pod_that_lacks_them() -> None:
    found = causes(unscheduled(FULL), nodes=[mps_node("a", 4, Taint("nvidia.com/gpu", "NoSchedule"))])
    assert found == ["taint"]


def test_cordoned_node_gets_uncordon() -> None:
    cordoned = mps_node("a", 4, Taint("node.kubernetes.io/unschedulable", "NoSchedule"))
    (cause,) = ask(Recorded(unscheduled(FULL)), nodes=[cordoned]).causes
    assert cause.remedy == "kubectl uncordon a"


def test_amount_above_every_node_is_too_large() -> None:
    assert causes(unscheduled(FULL, container("main", 8)), nodes=[mps_node("a")]) == ["amount-too-large"]


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"pool": "none"}},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}]
                    }
                }
            }
        },
    ],
)
def test_selector_that_excludes_gpu_nodes(spec: Object) -> None:
    (cause,) = ask(Recorded(unscheduled(FULL, **spec)), nodes=[mps_node("a")]).causes
    assert cause.cause == "node-selector"
    assert "pool" in cause.summary


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("nvidia.com/gpus", "ask for nvidia.com/gpu:"), ("nvidia.com/gpu.shared", "ask for nvidia.com/gpu:")],
)
def test_name_that_no_node_offers(name: str, remedy: str) -> None:
    asking = unscheduled(f"0/1 nodes are available: 1 Insufficient {name}.", container(resource=name))
    (cause,) = ask(Recorded(asking), nodes=[mps_node("a")]).causes
    assert cause.cause == "resource-not-offered"
    assert cause.remedy.startswith(remedy)


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
    assert cause.cause == "no-scheduler"
    assert (name or "default-scheduler") in cause.summary


def test_pod_that_scheduler_does_not_queue_before_its_claim() -> None:
    claims = [{"name": "gpu", "resourceClaimName": "gpu-of-main"}]
    (cause,) = ask(Recorded(pod("main", container("main", 0), spec={"resourceClaims": claims}))).causes
    assert cause.cause == "resource-claim"
    assert "gpu-of-main" in cause.summary


def test_room_that_came_back_is_said() -> None:
    (cause,) = ask(
        Recorded(unscheduled(f"0/1 nodes are available: 1 Insufficient {GPU}.")), nodes=[mps_node("a")]
    ).causes
    assert cause.cause == "replicas-held"
    assert "node a has room now" in cause.summary


@pytest.mark.parametrize(("gate", "expected"), [("example.com/quota", "gated"), ("kueue.x-k8s.io/admission", "queued")])
def test_gates(gate: str, expected: str) -> None:
    labels = {"kueue.x-k8s.io/queue-name": "team"}
    gated = pod("main", spec={"schedulingGates": [{"name": gate}]})
    gated["metadata"]["labels"] = labels
    assert causes(gated) == [expected]


def test_message_splits_into_reasons() -> None:
    found = reasons(
        "0/6 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b, c}, 3 Insufficient "
        f"{GPU}. no new claims to deallocate, preemption: 0/6 nodes are available: 6 Preemption is not helpful."
    )
    assert [(one.nodes, one.cause, one.resource) for one in found] == [
        (1, "other-resources", "cpu"),
        (2, "taint", ""),
        (3, "", GPU),
    ]


def test_hostile_message_is_cut() -> None:
    found = ask(Recorded(unscheduled("0/1 nodes are available: " + "1 x, " * 200_000)))
    assert all(len(text) <= 1024 for one in found.as_data()["causes"] for text in one["evidence"])
