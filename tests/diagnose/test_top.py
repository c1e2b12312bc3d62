"""Rows of `top`: totals, holders and rejected pods by node, namespace and owner."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.diagnose.both import both_ways, cluster_of
from tests.diagnose.cluster_objects import GPU, container, mps_node, pod
from webhook.cluster.objects import Objects
from webhook.cluster.reading import Owner
from webhook.diagnose.pods import LivePod, Owners, reachable_pods
from webhook.diagnose.top import MOST_HOLDERS, NAMESPACE, Top, by_node, rows
from webhook.policy.placement.cluster_objects import DevicePlugin, Node, PluginConfig, Replicas, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings

SETTINGS = Settings()
REJECTED = {"phase": "Failed", "reason": "UnexpectedAdmissionError"}


def by_namespace(pods: list[LivePod]) -> Top:
    return Top(NAMESPACE, list(rows(pods, lambda pod: pod.namespace)))


def read(*pods: dict[str, Any]) -> list[LivePod]:
    """The pods as a live cluster has them, and files do."""

    async def ask(objects: Objects) -> list[LivePod]:
        return await reachable_pods(objects, SETTINGS, None, {})

    return asyncio.run(both_ways(cluster_of(pods), ask))


def test_row_of_node_has_total_share_and_holders() -> None:
    pods = read(pod("a", node="gpu-1"), pod("b", node="gpu-1"), pod("c"), pod("d", node="gpu-1", status=REJECTED))
    (row,) = by_node(SETTINGS, Facts(nodes=(mps_node("gpu-1"),)), pods).as_data()["rows"]
    holders = row.pop("holders")
    assert [one["name"] for one in holders] == ["a", "b"]
    assert row == {
        "node": "gpu-1",
        "resource": GPU,
        "held": 2,
        "total": 4,
        "strategy": "mps",
        "shareMiB": 10240,
        "holderCount": 2,
        "rejected": 1,
    }


def test_configuration_of_plugin_precedes_labels() -> None:
    sliced = PluginConfig("eight", "time-slicing", resources=(Replicas(GPU, 8),))
    facts = Facts(
        nodes=(mps_node("gpu-1", labels={"nvidia.com/device-plugin.config": "eight"}),),
        device_plugin=DevicePlugin(configs=(sliced,)),
    )
    (row,) = by_node(SETTINGS, facts, []).as_data()["rows"]
    assert (row["strategy"], row["shareMiB"]) == ("time-slicing", 5120)


def test_node_without_labels_has_unknown_strategy() -> None:
    top = by_node(SETTINGS, Facts(nodes=(Node("n", {}, (), {GPU: 2}),)), [])
    assert list(top.lines(None))[1].split() == ["n", "?", GPU, "0/2", "-", "-", "-"]


def test_pods_on_unknown_nodes_are_shown() -> None:
    (row,) = by_node(SETTINGS, Facts(), read(pod("a", node="gone"))).rows
    assert (row.of, row.held, row.offer) == ("gone", 1, None)
    assert "1/?" in list(by_node(SETTINGS, Facts(), read(pod("a", node="gone"))).lines(None))[1]


def test_namespaces_count_what_their_pods_hold() -> None:
    pods = read(
        pod("a", node="n"),
        pod("b", container("c", 2), node="n"),
        pod("c", node="n", namespace="team-b"),
        pod("d", node="n", namespace="team-c", status=REJECTED),
    )
    found = [(row.of, row.held, row.rejected) for row in by_namespace(pods).rows]
    assert found == [("team-a", 3, 0), ("team-b", 1, 0), ("team-c", 0, 1)]


def test_owners_group_pods_of_one_deployment() -> None:
    owners = Owners({("team-a", Owner("ReplicaSet", "web-1")): Owner("Deployment", "web")})
    pods = read(*(pod(f"p{one}", node="n", owner=("ReplicaSet", "web-1")) for one in range(40)))
    (row,) = rows(pods, lambda pod: f"{pod.namespace}/{owners.top(pod)}")
    assert (row.of, row.held) == ("team-a/Deployment/web", 40)


def test_report_lists_bounded_number_of_holders() -> None:
    pods = read(*(pod(f"p{one:03}", node="n") for one in range(MOST_HOLDERS + 1)))
    (row,) = by_namespace(pods).as_data()["rows"]
    assert (len(row["holders"]), row["holderCount"]) == (MOST_HOLDERS, MOST_HOLDERS + 1)


def test_no_gpus_are_said() -> None:
    assert list(by_namespace([]).lines(None)) == ["no GPU resources are offered or held"]


@pytest.mark.parametrize("width", [80, 200])
def test_lines_fit_terminal(width: int) -> None:
    pods = read(*(pod(f"a-long-name-of-a-pod-{one:03}", node="gpu-1") for one in range(30)))
    lines = list(by_node(SETTINGS, Facts(nodes=(mps_node("gpu-1", 48),)), pods).lines(width))
    assert max(map(len, lines)) <= width
    assert "30/48" in lines[1]


def test_rejected_pod_of_a_node_that_offers_nothing_has_a_row() -> None:
    failed = LivePod("team-a", "main", Owner("Pod", "main"), "gone", "Failed", "UnexpectedAdmissionError", {})
    (row,) = by_node(SETTINGS, Facts(nodes=()), [failed]).rows
    assert (row.of, row.held, row.rejected) == ("gone", 0, 1)


def test_part_of_the_pods_is_not_shown_as_all() -> None:
    facts = Facts(nodes=(mps_node("gpu-1"),))
    assert "others may hold more" in [*by_node(SETTINGS, facts, [], counts_all=False).lines(None)][-1]
    assert len([*by_node(SETTINGS, facts, []).lines(None)]) == 2


def test_node_that_takes_no_pods_is_named() -> None:
    cordoned = Taint("node.kubernetes.io/unschedulable", "NoSchedule")
    top = by_node(SETTINGS, Facts(nodes=(mps_node("gpu-1", 4, cordoned), mps_node("gpu-2"))), [])
    assert top.as_data()["closed"] == [{"node": "gpu-1", "why": "it is cordoned"}]
    assert "takes no pods: gpu-1: it is cordoned" in list(top.lines(None))


def test_text_of_namespaces_and_rejected_pods() -> None:
    pods = read(pod("a", container("c", 2), node="n"), pod("b", node="n", namespace="team-b", status=REJECTED))
    assert list(by_namespace(pods).lines(None)) == [
        "NAMESPACE  RESOURCE        HELD  REJECTED  HOLDERS",
        "team-a     nvidia.com/gpu  2     -         team-a/a (2)",
        "team-b     -               0     1         -",
        "rejected: pods that ended in UnexpectedAdmissionError; they hold nothing",
    ]
