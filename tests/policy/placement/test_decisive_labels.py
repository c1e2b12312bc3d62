"""Labels that isolate workloads and show classes stay certain on a node that has more labels than are kept."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement import node_index
from webhook.policy.placement.cluster_objects import DevicePlugin, Node, PluginConfig, Replicas
from webhook.policy.placement.facts import RESTRICTED, Facts
from webhook.policy.placement.node_bounds import ALWAYS, MOST, Decisive, bounded
from webhook.policy.placement.node_classes import CONFIG_LABEL, STRATEGY
from webhook.policy.settings.elements import NodeGroup
from webhook.policy.settings.settings import PlacementSettings, Settings
from webhook.policy.verdict import Decision, Verdict

GPU = "nvidia.com/gpu"
HOSTNAME = "kubernetes.io/hostname"
POOL = RESTRICTED + "pool"
OWN = "example.com/sharing"

FLOOD = {f"nvidia.com/a{number:03}": "" for number in range(260)}
"""Labels that a kubelet may write, and that come before others in the order of what is kept."""


def node(name: str, labels: dict[str, str]) -> Node:
    return Node(name, {HOSTNAME: name} | labels, (), {GPU: 8})


WHOLE = node("whole", {POOL: "train", STRATEGY: "none"})
EVIL = node("evil", {POOL: "other"} | FLOOD)


def reviewed(
    nodes: tuple[Node, ...], selector: dict[str, str], settings: Settings | None = None, **facts: Any
) -> Verdict:
    containers = [{"name": "c", "image": "i", "resources": {"limits": {GPU: 8}}}]
    pod = {"metadata": {"name": "p"}, "spec": {"containers": containers, "nodeSelector": selector}}
    evaluator = OfflineEvaluator.of(settings or Settings(), Facts(nodes, **facts))
    return evaluator.evaluate(pod, "", "Pod", RequestContext("team-a", groups=()))


@pytest.mark.parametrize(
    "selector",
    [{POOL: "train"}, {HOSTNAME: "whole"}, {STRATEGY: "none"}, {"a.node-restriction.kubernetes.io/b": "c"}],
    ids=["pool", "host name", "class", "subdomain"],
)
def test_node_beyond_bounds_takes_no_pod_that_a_certain_label_keeps_off(selector: dict[str, str]) -> None:
    """A kubelet may change neither labels of node-restriction.kubernetes.io/ nor what its flood of labels leaves."""
    whole = node("whole", {**WHOLE.labels} | {"a.node-restriction.kubernetes.io/b": "c"})
    for evil in (EVIL, node("evil", FLOOD)):
        kept = bounded(evil)
        assert len(kept.labels) == MOST["labels"]
        assert kept.incomplete == ("labels",)
        assert reviewed((whole, kept), selector).decision is Decision.ALLOWED


def test_node_beyond_bounds_takes_pods_that_select_other_labels() -> None:
    whole = node("whole", {**WHOLE.labels} | {"team": "a"})
    assert reviewed((whole, bounded(EVIL)), {"team": "a"}).decision is Decision.DENIED


def test_class_of_node_beyond_bounds_is_known_where_no_label_of_classes_lacks() -> None:
    assert reviewed((bounded(node("n", FLOOD | {STRATEGY: "none"})),), {}).decision is Decision.ALLOWED
    assert reviewed((bounded(node("n", FLOOD | {STRATEGY: "mps"})),), {}).decision is Decision.DENIED
    assert reviewed((bounded(node("n", FLOOD)),), {}).decision is Decision.DENIED


def with_own_label() -> Settings:
    return Settings(placement=PlacementSettings(mps_labels={OWN: "mps"}, time_slicing_labels={}))


def test_labels_of_settings_are_certain_where_the_same_settings_bounded_the_node() -> None:
    """Without them a snapshot that other settings made lacks a label, which may be there."""
    settings = with_own_label()
    whole, evil = node("whole", {OWN: "none"}), node("evil", FLOOD)
    assert reviewed((whole, bounded(evil, Decisive.of(settings))), {}, settings).decision is Decision.ALLOWED
    assert reviewed((whole, bounded(evil, ALWAYS)), {}, settings).decision is Decision.DENIED
    assert reviewed((whole, bounded(evil, ALWAYS)), {OWN: "none"}, settings).decision is Decision.DENIED
    sharing = bounded(node("evil", FLOOD | {OWN: "mps"}), Decisive.of(settings))
    assert sharing.labels[OWN] == "mps"
    assert reviewed((whole, sharing), {}, settings).decision is Decision.DENIED


def test_configuration_of_node_beyond_bounds_is_certain() -> None:
    configs = (PluginConfig("whole"), PluginConfig("mps", "mps", resources=(Replicas(GPU, 4),)))
    for default, decision in (("whole", Decision.ALLOWED), ("mps", Decision.DENIED)):
        plugin = DevicePlugin(configs=configs, default_config=default)
        assert reviewed((bounded(node("n", FLOOD)),), {}, device_plugin=plugin).decision is decision
        other = bounded(node("n", FLOOD | {CONFIG_LABEL: "whole"}))
        assert reviewed((other,), {}, device_plugin=plugin).decision is Decision.ALLOWED


def test_group_does_not_describe_node_that_only_may_have_its_labels() -> None:
    """The settings name more labels than are kept first."""
    group = NodeGroup("a", {f"group-{number:03}": "x" for number in range(200)})
    settings = Settings(placement=PlacementSettings(node_groups=(group,)))
    found = bounded(node("n", FLOOD), Decisive.of(settings))
    assert reviewed((found,), {}, settings).decision is Decision.DENIED


def test_as_many_labels_of_settings_are_kept_first_as_leave_room() -> None:
    group = NodeGroup("a", {f"group-{number:03}": "x" for number in range(200)} | {OWN: "", HOSTNAME: "n"})
    settings = Settings(placement=PlacementSettings(mps_labels={OWN: "mps"}, node_groups=(group,)))
    decisive = Decisive.of(settings).labels
    assert decisive[: len(ALWAYS.labels) + 2] == (*ALWAYS.labels, OWN, "group-000")
    assert len(decisive) == len(ALWAYS.labels) + 64


@pytest.mark.parametrize(
    ("labels", "lacking"),
    [
        ({f"{RESTRICTED}{number}": "" for number in range(257)}, {RESTRICTED, HOSTNAME}),
        ({f"{RESTRICTED}{number}": "" for number in range(256)}, {HOSTNAME}),
        ({RESTRICTED + "long": "x" * 64}, {RESTRICTED}),
        ({f"a.{RESTRICTED}long": "x" * 64}, {RESTRICTED}),
        ({f"a{RESTRICTED}long": "x" * 64}, set()),
        ({STRATEGY: "x" * 64}, {STRATEGY}),
        (FLOOD, set()),
    ],
)
def test_label_that_is_left_out_is_not_certain(labels: dict[str, str], lacking: set[str]) -> None:
    found = bounded(Node("n", {HOSTNAME: "n"} | labels))
    assert found.incomplete == ("labels",)
    assert set(ALWAYS.labels) - set(found.certain_labels) == lacking


def test_node_that_was_bounded_before_stays_as_uncertain() -> None:
    once = Node("n", dict.fromkeys(FLOOD, "v"), (), {}, ("labels",), (HOSTNAME, "example.com/other"))
    assert bounded(once).certain_labels == (HOSTNAME,)
    assert bounded(Node("n", {"a": "b"}, (), {}, ("labels",), (HOSTNAME,))).certain_labels == (HOSTNAME,)


def test_bound_over_all_nodes_keeps_decisive_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_index, "MOST_DIFFERENT", 20)
    monkeypatch.setattr(node_index, "MOST_PER_NODE", 0)
    own = {POOL: "other", STRATEGY: "none", "example.com/own": "x"}
    nodes = (WHOLE, *(node(f"n{number}", own | {"example.com/own": f"{number}"}) for number in range(9)))
    index = OfflineEvaluator.of(Settings(), Facts(nodes)).snapshot.of("team-a").nodes.index
    last = list(index.nodes(index.incomplete))[-1]
    assert last.labels == {HOSTNAME: "n8", POOL: "other", STRATEGY: "none"}
    assert reviewed(nodes, {POOL: "train"}).decision is Decision.ALLOWED
    assert reviewed(nodes, {HOSTNAME: "n8"}).decision is Decision.ALLOWED
