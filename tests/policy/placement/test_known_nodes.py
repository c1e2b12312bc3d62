"""Where a pod could land as far as known nodes tell, against the scheduler's rules on each of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import scheduler
from tests.policy.placement.landing import admitted, labelled_classes, placement
from tests.strategies.selecting import GPU, POOL, clusters, nearly_placed_pods, selecting, selecting_pods, tolerations
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import CAPABLE, STRATEGY
from webhook.policy.placement.reachability import Reachability, WholeCards
from webhook.policy.settings.settings import PlacementSettings, Settings
from webhook.policy.verdict import Decision

Json = dict[str, Any]


@given(selecting_pods(names=True), clusters(), st.lists(tolerations, max_size=2))
def test_known_nodes_admit_like_scheduler(pod: Json, nodes: tuple[Node, ...], held: list[Json]) -> None:
    pod["spec"]["tolerations"] = held
    assert admitted(pod, nodes) == [node for node in nodes if scheduler.admits(pod, node)]


@pytest.mark.slow
@settings(max_examples=400)
@given(nearly_placed_pods(), clusters(), clusters("g"))
def test_known_nodes_narrow_labels(pod: Json, nodes: tuple[Node, ...], groups: tuple[Node, ...]) -> None:
    known, unknown = (*nodes, *groups), [node.name for node in nodes if is_unknown(node, groups)]
    placed, by_labels = placement(pod, nodes, groups), placement(pod)
    assert [node.name for node in placed.cluster.index.nodes(placed.cluster.index.unknown)] == unknown
    assert placed.lands(GPU) is expected(pod, known, is_mps, unknown, by_labels.lands(GPU))
    sliced = expected(pod, known, is_sliced, unknown, by_labels.lands(GPU, "time-slicing"))
    assert placed.lands(GPU, "time-slicing") is sliced


def is_unknown(node: Node, groups: tuple[Node, ...]) -> bool:
    """Whether a node offers the GPU, has no label of its class, and is of no declared group."""
    described = any(group.labels and group.labels.items() <= node.labels.items() for group in groups)
    return GPU.name in node.resources and not node.labels.keys() - {POOL} and not described


def expected(
    pod: Json,
    nodes: tuple[Node, ...],
    shares: Callable[[Node], bool],
    unknown: Collection[str],
    by_labels: Reachability,
) -> Reachability:
    """The model: nodes that could take the pod now, or once their state has passed, decide all alike.

    One of unknown class may share its cards, or not.
    """
    needed = pod["spec"]["containers"][0]["resources"]["limits"][GPU.name]
    lasting = [(node, scheduler.without_passing_states(node)) for node in nodes if GPU.name in node.resources]
    taking = [
        node
        for node, steady in lasting
        if (node.resources[GPU.name] >= needed or not any(node.resources.values())) and scheduler.admits(pod, steady)
    ]
    if not taking:
        return by_labels
    if not any(shares(node) or node.name in unknown for node in taking):
        return Reachability.NO
    return Reachability.YES if all(map(shares, taking)) else Reachability.UNKNOWN


def is_mps(node: Node) -> bool:
    return node.labels.get(STRATEGY) == "mps" or node.labels.get(CAPABLE) == "true"


def is_sliced(node: Node) -> bool:
    return node.labels.get(STRATEGY) == "time-slicing" and not is_mps(node)


MPS_LABELS = PlacementSettings().mps_labels


@given(selecting_pods(names=True), clusters(), st.lists(st.sampled_from(sorted(MPS_LABELS)), unique=True, min_size=1))
def test_no_is_never_said_while_known_mps_node_takes_pod(
    pod: Json, nodes: tuple[Node, ...], configured: list[str]
) -> None:
    labels = {key: MPS_LABELS[key] for key in configured}
    needed = pod["spec"]["containers"][0]["resources"]["limits"][GPU.name]
    taking = [
        node
        for node in nodes
        if node.resources.get(GPU.name, 0) >= needed
        and scheduler.admits(pod, node)
        and any(node.labels.get(key) == value for key, value in labels.items())
    ]
    lands = placement(pod, nodes, node_classes=labelled_classes(labels, {})).lands(GPU)
    assert lands is not Reachability.NO or not taking


@given(selecting_pods(names=True), clusters())
def test_node_groups_without_facts_relax_nothing(pod: Json, groups: tuple[Node, ...]) -> None:
    by_labels = placement(pod).lands(GPU)
    assert placement(pod, None, groups).lands(GPU) in (by_labels, max(by_labels, Reachability.UNKNOWN, key=CERTAINTY))


CERTAINTY = [Reachability.NO, Reachability.UNKNOWN, Reachability.YES].index


@given(selecting_pods(names=True), clusters())
def test_absent_node_relaxes_no_rejection(pod: Json, nodes: tuple[Node, ...]) -> None:
    nowhere = tuple(Node(node.name, node.labels, node.taints, {}) for node in nodes)
    assert placement(pod, nowhere).lands(GPU) is placement(pod).lands(GPU)


def test_without_mps_labels_any_node_could_be_mps() -> None:
    pod = {"spec": {"containers": [{"resources": {"limits": {GPU.name: 1}}}]}}
    node = Node("n", {STRATEGY: "none"}, (), {GPU.name: 1})
    assert placement(pod, (node,), node_classes=labelled_classes({}, {})).lands(GPU) is Reachability.YES
    assert placement(pod, (node,)).lands(GPU) is Reachability.NO


def test_without_time_slicing_labels_and_nodes_nothing_is_time_sliced() -> None:
    pod = {"spec": {"containers": [{"resources": {"limits": {GPU.name: 1}}}]}}
    assert placement(pod).lands(GPU, "time-slicing") is Reachability.UNKNOWN
    assert placement(pod, node_classes=labelled_classes(MPS_LABELS, {})).lands(GPU, "time-slicing") is Reachability.NO


WHOLE = {"nvidia.com/gpu.product": "NVIDIA-A10", "nvidia.com/gpu.replicas": "1"}
TWO = {"spec": {"containers": [{"name": "c", "resources": {"limits": {GPU.name: 2}}}]}}


def decision(*nodes: Node) -> Decision:
    return (
        OfflineEvaluator.of(Settings(), Facts(nodes=nodes)).evaluate(TWO, "", "Pod", RequestContext("team-a")).decision
    )


def test_node_without_labels_lifts_no_limit() -> None:
    whole, shared = Node("whole", WHOLE, (), {GPU.name: 4}), Node("shared", {STRATEGY: "mps"}, (), {GPU.name: 4})
    assert decision(whole) is not Decision.DENIED
    assert decision(whole, shared) is Decision.DENIED
    assert decision(whole, Node("shared", {}, (), {GPU.name: 4})) is Decision.DENIED


def test_label_of_an_mps_node_imposes_the_limit() -> None:
    whole = Node("whole", WHOLE, (), {GPU.name: 4})
    assert decision(whole, Node("other", {**WHOLE, CAPABLE: "true"}, (), {GPU.name: 4})) is Decision.DENIED
    reserved = Settings(placement=PlacementSettings(mps_labels={"node-restriction.kubernetes.io/mps": "true"}))
    facts = Facts(nodes=(whole, Node("other", {**WHOLE, CAPABLE: "true"}, (), {GPU.name: 4})))
    verdict = OfflineEvaluator.of(reserved, facts).evaluate(TWO, "", "Pod", RequestContext("team-a"))
    assert verdict.decision is not Decision.DENIED


POOLS = (Node("a", {POOL: "a"}), Node("one", {POOL: "1"}), Node("three", {POOL: "3"}), Node("none"))


def test_label_named_metadata_name_is_not_the_node_name() -> None:
    """The scheduler looks for the label, which no node has: `NotIn` holds on every node, `In` on none."""
    everywhere = selecting({"key": "metadata.name", "operator": "NotIn", "values": ["a"]})
    assert admitted(everywhere, POOLS) == list(POOLS)
    assert admitted(selecting({"key": "metadata.name", "operator": "In", "values": ["a"]}), POOLS) == []
    assert admitted({"spec": {"containers": [], "nodeSelector": {"metadata.name": "a"}}}, POOLS) == []


def test_mig_after_shared_resource_contradicts_mps_selector() -> None:
    limits = {GPU.name: 1, "nvidia.com/mig-1g.5gb": 1}
    pod = {"spec": {"containers": [{"name": "c", "resources": {"limits": limits}}], "nodeSelector": {STRATEGY: "mps"}}}
    evaluator = OfflineEvaluator.of(Settings())
    verdict = evaluator.evaluate(pod, "", "Pod", RequestContext("team-a"))
    assert [found.message for found in verdict.findings if found.code == "GPS014"] == [
        'MPS nodes never offer "nvidia.com/mig-1g.5gb", but the selectors require them'
    ]


def test_long_exclusion_is_not_spelled_out() -> None:
    labels = {f"example.com/{'x' * 50}-{number}": "mps" for number in range(9)}
    assert (
        WholeCards(labelled_classes(labels, {}), labels_suffice=True, all_discovered=True).text
        == "NotIn for each label of placement.mpsLabels and timeSlicingLabels"
    )
    both = WholeCards(labelled_classes({"a": "true"}, {"a": "sliced"}), labels_suffice=True, all_discovered=True)
    assert both.text == 'a NotIn ["sliced", "true"]'
