"""Nodes of which not everything is known: what is missing could admit any pod, and what is known still counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import scheduler
from tests.policy.placement.landing import admitted
from tests.strategies.selecting import clusters, selecting, selecting_pods
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.selector import Requirement
from webhook.policy.settings.settings import Settings

Json = dict[str, Any]
GPU = "nvidia.com/gpu"


@given(selecting_pods(names=True), clusters(), st.data())
def test_node_takes_every_pod_that_it_takes_in_full(pod: Json, nodes: tuple[Node, ...], data: st.DataObject) -> None:
    """Whatever labels and taints a node's agent hides behind others, the node is not left out."""
    cut = []
    for node in nodes:
        keys = data.draw(st.sets(st.sampled_from(sorted(node.labels) or ["none"])))
        labels = {key: value for key, value in node.labels.items() if key not in keys}
        taints = node.taints[: data.draw(st.integers(0, len(node.taints)))]
        cut.append(replace(node, labels=labels, taints=taints, incomplete=("labels", "taints")))
    names = [node.name for node in admitted(pod, tuple(cut))]
    assert set(names) >= {node.name for node in nodes if scheduler.admits(pod, node)}


@given(selecting_pods(names=True), clusters())
def test_labels_that_are_known_decide(pod: Json, nodes: tuple[Node, ...]) -> None:
    keys = {*pod["spec"]["nodeSelector"], *(one["key"] for one in expressions(pod))}
    incomplete = tuple(replace(node, incomplete=("labels",)) for node in nodes)
    known = [replace(node, incomplete=()) for node in admitted(pod, incomplete) if keys <= node.labels.keys()]
    assert known == [node for node in nodes if keys <= node.labels.keys() and scheduler.admits(pod, node)]


def expressions(pod: Json) -> list[Json]:
    return [one for term in scheduler.terms_of(pod) or () for one in term.get("matchExpressions", ())]


@pytest.mark.parametrize("operator", ["Exists", "DoesNotExist", "In", "NotIn", "Gt"])
def test_unlisted_label_satisfies_any_expression(operator: str) -> None:
    values = {} if operator.endswith("Exist") or operator == "Exists" else {"values": ["1"]}
    pod = selecting({"key": "hidden", "operator": operator, **values})
    node = Node("n", {"known": "x"}, (), {}, ("labels",))
    assert admitted(pod, (node,)) == [node]
    expected = operator in ("DoesNotExist", "NotIn")
    assert admitted(pod, (replace(node, incomplete=("taints", "resources")),)) == (
        [replace(node, incomplete=("taints", "resources"))] if expected else []
    )


def test_name_of_incomplete_node_is_known() -> None:
    node = Node("n", {}, (), {}, ("labels", "taints", "resources"))
    pod = selecting()
    for name, expected in (("n", [node]), ("other", [])):
        field = {"key": "metadata.name", "operator": "In", "values": [name]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        assert admitted(pod, (node,)) == expected


MOST_IN_ALL = 100_000


def with_labels(number: int, own: int) -> Node:
    """A node with labels that no other node has."""
    labels = {f"own-{number}-{each}": "x" for each in range(own)}
    taints = (Taint("nvidia.com/gpu", "NoSchedule"), Taint(f"own-{number}", "NoSchedule"))
    return Node(f"n{number:04}", {"zone": "z"} | labels, taints, {GPU: number + 1, f"nvidia.com/mig-{number}": 1})


def test_different_labels_of_all_nodes_are_bounded() -> None:
    """Nodes beyond the sum keep what earlier nodes have too, and their GPUs; they are incomplete."""
    nodes = tuple(with_labels(number, 250) for number in range(450))
    index = OfflineEvaluator.of(Settings(), Facts(nodes=nodes)).snapshot.of("team").nodes.index
    found = list(index.nodes(index.all))
    incomplete = list(index.nodes(index.incomplete))
    assert [node.name for node in found] == [node.name for node in nodes]
    assert found[: len(found) - len(incomplete)] == list(nodes[: len(found) - len(incomplete)])
    assert 0.9 * MOST_IN_ALL < 254 * (len(found) - len(incomplete)) <= MOST_IN_ALL
    for node in incomplete:
        assert node.labels == {"zone": "z"}
        assert node.taints == (Taint("nvidia.com/gpu", "NoSchedule"),)
        assert node.resources == {GPU: int(node.name[1:]) + 1}
        assert node.incomplete == ("labels", "taints", "resources")


def test_nodes_of_an_honest_cluster_stay_complete() -> None:
    """5,000 nodes with 100 labels each, of which ten are those of one node alone."""
    shared = {f"feature.node.kubernetes.io/cpu-cpuid.{number}": "true" for number in range(90)}
    nodes = tuple(
        Node(f"n{number}", shared | {f"own-{each}": f"{number}" for each in range(10)}, (), {GPU: 4})
        for number in range(5000)
    )
    index = OfflineEvaluator.of(Settings(), Facts(nodes=nodes)).snapshot.of("team").nodes.index
    assert index.incomplete == 0
    assert index.selected(Requirement({"own-9": "4999"}, None)) == 1 << 4999
