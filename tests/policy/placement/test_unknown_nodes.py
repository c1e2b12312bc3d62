"""A node of unknown class counts as one that shares its cards: what is lost of a node never lifts a limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from tests.policy.placement.landing import placement
from tests.strategies.selecting import GPU, POOL, nearly_placed_pods, offering_clusters
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import DevicePlugin, Node, NodePart
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import CAPABLE, PRODUCT, REPLICAS, STRATEGY
from webhook.policy.placement.reachability import Placement, Reachability
from webhook.policy.settings.elements import NodeGroup
from webhook.policy.settings.settings import PlacementSettings, Settings
from webhook.policy.verdict import Decision, Verdict

Json = dict[str, Any]

MPS = Node("mps", {STRATEGY: "mps", CAPABLE: "true"}, (), {GPU.name: 4})
WHOLE = Node("whole", {STRATEGY: "none"}, (), {GPU.name: 4})
LOST = Node("lost", {}, (), {GPU.name: 4})


@st.composite
def cut(draw: st.DrawFn, node: Node) -> Node:
    """The node, of which some labels, taints and resources may be missing, and said to be."""
    labels = {key: value for key, value in node.labels.items() if draw(st.booleans())}
    taints = tuple(taint for taint in node.taints if draw(st.booleans()))
    resources = {name: units for name, units in node.resources.items() if draw(st.booleans())}
    missing: dict[NodePart, bool] = {
        "labels": labels != node.labels,
        "taints": taints != node.taints,
        "resources": resources != node.resources,
    }
    return replace(
        node,
        labels=labels,
        taints=taints,
        resources=resources,
        incomplete=tuple(part for part, is_missing in missing.items() if is_missing),
    )


@st.composite
def cut_clusters(draw: st.DrawFn) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Nodes as they are, and as facts have them."""
    nodes = draw(offering_clusters())
    return nodes, tuple(draw(cut(node)) if draw(st.booleans()) else node for node in nodes)


def names(placed: Placement, nodes: int) -> set[str]:
    return {node.name for node in placed.cluster.index.nodes(nodes)}


def is_mps(node: Node) -> bool:
    return node.labels.get(STRATEGY) == "mps" or node.labels.get(CAPABLE) == "true"


@pytest.mark.slow
@settings(max_examples=500)
@given(nearly_placed_pods(), cut_clusters())
def test_what_facts_lack_of_node_excludes_nothing(
    pod: Json, cluster: tuple[tuple[Node, ...], tuple[Node, ...]]
) -> None:
    """The scheduler knows all of a node: where it could place the pod, the policy must expect it."""
    nodes, known = cluster
    incomplete = {node.name for node in known if node.incomplete}
    assume(incomplete)
    truth, found = placement(pod, nodes), placement(pod, known)
    assert names(truth, truth.possible) & incomplete <= names(found, found.possible)
    assert not names(found, found.whole_candidates(GPU)) & incomplete
    truly = {node.name for node in nodes if is_mps(node)}
    if names(truth, truth.possible) & truly:
        event("an MPS node takes the pod")
        assert found.lands(GPU) is not Reachability.NO
    if found.lands(GPU) is Reachability.YES:
        assert names(found, found.possible) <= {node.name for node in known if is_mps(node)}


def pod_of(amount: int = 2, **spec: Any) -> Json:
    container = {"name": "c", "image": "i", "resources": {"limits": {GPU.name: amount}}}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}


def verdict(nodes: tuple[Node, ...], settings: Settings | None = None, plugin: DevicePlugin | None = None) -> Verdict:
    evaluator = OfflineEvaluator.of(settings or Settings(), Facts(nodes, device_plugin=plugin))
    return evaluator.evaluate(pod_of(), "", "Pod", RequestContext("team-a"))


def test_kubelet_that_drops_its_labels_lifts_no_limit() -> None:
    assert verdict((WHOLE,)).decision is Decision.ALLOWED
    assert verdict((MPS, WHOLE)).decision is Decision.DENIED
    assert verdict((replace(MPS, labels={}), WHOLE)).decision is Decision.DENIED


@pytest.mark.parametrize("incomplete", [("labels",), ("taints",), ("resources",)])
def test_node_beyond_bounds_lifts_no_limit(incomplete: tuple[NodePart, ...]) -> None:
    assert verdict((replace(WHOLE, incomplete=incomplete), WHOLE)).decision is Decision.DENIED


def test_remedy_names_what_hides_the_class_of_a_node() -> None:
    full = replace(LOST, name="full", incomplete=("labels",))
    assert 'node "full" may share its cards, because it has more labels' in verdict((full,)).findings[0].remedy
    both = verdict((full, LOST)).findings[0].remedy
    assert 'node "lost" (and 1 other) may share its cards, because no label shows its class' in both


@pytest.mark.parametrize(
    ("group", "labels", "decision"),
    [
        (NodeGroup("a", {POOL: "a"}), {POOL: "a", "other": "x"}, Decision.ALLOWED),
        (NodeGroup("a", {POOL: "a"}), {POOL: "b"}, Decision.DENIED),
        (NodeGroup("a", {POOL: "a", CAPABLE: "true"}), {POOL: "a"}, Decision.DENIED),
        (NodeGroup("a"), {POOL: "a"}, Decision.DENIED),
    ],
    ids=["all labels", "other value", "not all labels", "no labels"],
)
def test_node_with_all_labels_of_group_is_known(group: NodeGroup, labels: dict[str, str], decision: Decision) -> None:
    settings = Settings(placement=PlacementSettings(node_groups=(group,)))
    assert verdict((replace(LOST, labels=labels),), settings).decision is decision


def test_declared_group_itself_is_known() -> None:
    group = NodeGroup("a", resources={GPU.name: 4})
    complete = Settings(placement=PlacementSettings(node_groups=(group,), groups_are_complete=True))
    assert verdict((), complete).decision is Decision.ALLOWED


@pytest.mark.parametrize(
    ("labels", "decision"),
    [
        ({PRODUCT: "A100-SHARED", REPLICAS: "4"}, Decision.DENIED),
        ({PRODUCT: "A100-SHARED"}, Decision.DENIED),
        ({REPLICAS: "4"}, Decision.DENIED),
        ({REPLICAS: "many"}, Decision.DENIED),
        ({STRATEGY: "a-new-one"}, Decision.DENIED),
        ({STRATEGY: ""}, Decision.DENIED),
        ({PRODUCT: "A100", REPLICAS: "1"}, Decision.ALLOWED),
        ({PRODUCT: "A100-SHARED", STRATEGY: "none"}, Decision.ALLOWED),
        ({PRODUCT: "A100-SHARED", STRATEGY: "time-slicing"}, Decision.ALLOWED),
    ],
    ids=str,
)
def test_labels_of_shared_cards_show_no_whole_cards(labels: dict[str, str], decision: Decision) -> None:
    found = verdict((replace(LOST, labels=labels),))
    assert found.decision is decision
    if decision is Decision.DENIED:
        assert 'node "lost" may share its cards' in found.findings[0].remedy
