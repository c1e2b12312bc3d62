"""Where a pod could land as far as known nodes tell, against the scheduler's rules on each of them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests import scheduler
from tests.policy.landing import placement
from tests.strategies.selecting import GPU, clusters, selecting_pods, tolerations
from webhook.policy.facts import Node
from webhook.policy.placement import CAPABLE, STRATEGY, Lands, Worlds

Json = dict[str, Any]


@given(selecting_pods(names=True), clusters(), st.lists(tolerations, max_size=2))
def test_known_nodes_admit_a_pod_as_the_scheduler_would(pod: Json, nodes: tuple[Node, ...], held: list[Json]) -> None:
    pod["spec"]["tolerations"] = held
    judged = placement(pod, nodes)
    assert [judged.admits(node) for node in nodes] == [scheduler.admits(pod, node) for node in nodes]


@given(selecting_pods(names=True), clusters(), clusters("g"), st.lists(tolerations, max_size=2))
def test_known_nodes_narrow_what_labels_say(
    pod: Json, nodes: tuple[Node, ...], groups: tuple[Node, ...], held: list[Json]
) -> None:
    pod["spec"]["tolerations"] = held
    needed = pod["spec"]["containers"][0]["resources"]["limits"][GPU.name]
    by_labels = placement(pod).lands(GPU)
    candidates = [
        node for node in (*nodes, *groups) if node.resources.get(GPU.name, 0) >= needed and scheduler.admits(pod, node)
    ]
    mps = {node.labels.get(STRATEGY) == "mps" or node.labels.get(CAPABLE) == "true" for node in candidates}
    expected = by_labels
    if by_labels is not Lands.NO and candidates:
        expected = Lands.UNKNOWN if len(mps) == 2 else Lands.YES if True in mps else Lands.NO
    assert placement(pod, nodes, groups).lands(GPU) is expected


@given(selecting_pods(names=True), clusters())
def test_groups_without_facts_narrow_nothing(pod: Json, groups: tuple[Node, ...]) -> None:
    assert placement(pod, None, groups).lands(GPU) is placement(pod).lands(GPU)


@given(selecting_pods(names=True), clusters())
def test_an_absence_never_relaxes_a_refusal(pod: Json, nodes: tuple[Node, ...]) -> None:
    nowhere = tuple(Node(node.name, node.labels, node.taints, {}) for node in nodes)
    assert placement(pod, nowhere).lands(GPU) is placement(pod).lands(GPU)


def test_known_nodes_could_all_be_mps_where_no_label_tells() -> None:
    pod = {"spec": {"containers": [{"resources": {"limits": {GPU.name: 1}}}]}}
    node = Node("n", {STRATEGY: "none"}, (), {GPU.name: 1})
    assert placement(pod, (node,), worlds=Worlds({})).lands(GPU) is Lands.YES
    assert placement(pod, (node,)).lands(GPU) is Lands.NO
