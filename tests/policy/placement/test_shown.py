"""What objects show of a cluster decides where nothing else tells; what they lack proves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import (
    DeviceClass,
    DevicePlugin,
    Node,
    PluginConfig,
    Replicas,
    RuntimeClass,
    Strategy,
)
from webhook.policy.placement.facts import UNKNOWN, Facts, Shown
from webhook.policy.placement.node_classes import PRODUCT, REPLICAS, STRATEGY
from webhook.policy.settings.elements import NodeGroup
from webhook.policy.settings.settings import Limits, PlacementSettings, Settings
from webhook.policy.verdict import Severity, Verdict

GPU = "nvidia.com/gpu"
POOL = "pool"
UNSHOWN = Shown()
BY_PLUGIN = Settings(limits=Limits(from_device_plugin=True))


def node(strategy: str, gpus: int = 4, pool: str = "a") -> Node:
    shares = strategy != "none"
    labels = {STRATEGY: strategy, REPLICAS: "4" if shares else "1", PRODUCT: "T4-SHARED" if shares else "T4"}
    return Node(f"node-{pool}", {**labels, POOL: pool}, (), {GPU: gpus})


def verdict(shown: Shown, *, settings: Settings | None = None, facts: Facts = UNKNOWN, **spec: Any) -> Verdict:
    container = {"name": "c", "resources": {"limits": {GPU: spec.pop("gpus", 2)}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}
    return OfflineEvaluator.of(settings or Settings(), facts, shown).evaluate(pod, "", "Pod", RequestContext("default"))


def codes(found: Verdict) -> list[str]:
    return [finding.code for finding in found.findings]


@pytest.mark.parametrize(
    ("strategies", "reported"),
    [
        (None, ["GPS001"]),
        (frozenset({"mps"}), ["GPS001"]),
        (frozenset({"mps", "none"}), ["GPS001"]),
        (frozenset({"time-slicing"}), []),
        (frozenset({"none"}), []),
    ],
)
def test_shown_strategies_replace_the_assumption_of_mps(
    strategies: frozenset[Strategy] | None, reported: list[str]
) -> None:
    assert codes(verdict(Shown(strategies=strategies))) == reported


def test_pod_that_requires_mps_nodes_is_denied_whatever_is_shown() -> None:
    shown = Shown(strategies=frozenset({"time-slicing"}))
    assert codes(verdict(shown, nodeSelector={STRATEGY: "mps"})) == ["GPS001"]


def test_group_of_settings_that_uses_mps_counts_whatever_is_shown() -> None:
    group = NodeGroup("t4", {STRATEGY: "mps", REPLICAS: "4", PRODUCT: "T4-SHARED"}, (), {GPU: 4})
    settings = Settings(placement=PlacementSettings(node_groups=(group,)))
    assert codes(verdict(Shown(strategies=frozenset({"none"})), settings=settings)) == ["GPS001"]


def sliced(*, refuses: bool) -> Facts:
    config = PluginConfig("default", "time-slicing", refuses, (Replicas(GPU, 4),))
    return Facts(device_plugin=DevicePlugin(configs=(config,), default_config="default"))


@pytest.mark.parametrize(("refuses", "reported"), [(True, ["GPS001"]), (False, [])])
def test_plugin_that_refuses_several_time_slices_is_reported(refuses: bool, reported: list[str]) -> None:
    found = verdict(Shown(strategies=frozenset({"time-slicing"})), facts=sliced(refuses=refuses), settings=BY_PLUGIN)
    assert codes(found) == reported
    assert all("time-sliced" in finding.message for finding in found.findings)


def test_refusal_of_time_slices_concerns_no_cluster_that_shows_none() -> None:
    found = verdict(Shown(strategies=frozenset({"none"})), facts=sliced(refuses=True), settings=BY_PLUGIN)
    assert codes(found) == []


@pytest.mark.parametrize(
    ("strategy", "reported"),
    [("mps", ["GPS001"]), ("time-slicing", []), ("none", ["GPS001"]), ("unheard-of", ["GPS001"])],
)
def test_shown_node_that_shares_decides_about_pod_that_it_could_take(strategy: str, reported: list[str]) -> None:
    assert codes(verdict(Shown(nodes=(node(strategy),)))) == reported


def test_each_pod_follows_the_shown_nodes_that_its_selector_leaves() -> None:
    shown = Shown(nodes=(node("mps"), node("time-slicing", pool="b")))
    assert codes(verdict(shown)) == ["GPS001"]
    assert codes(verdict(shown, nodeSelector={POOL: "a"})) == ["GPS001"]
    assert codes(verdict(shown, nodeSelector={POOL: "b"})) == []


def test_time_sliced_node_lifts_nothing_where_the_plugin_shows_mps() -> None:
    shown = Shown(nodes=(node("time-slicing"),), strategies=frozenset({"mps", "time-slicing"}))
    assert codes(verdict(shown)) == ["GPS001"]


def test_whole_node_lifts_nothing_of_a_shown_class() -> None:
    """Another node of a folder's cluster may share its cards: a node of a test is often alone."""
    found = verdict(Shown(nodes=(node("none"),)), facts=Facts(device_classes=(DeviceClass("c", GPU),)))
    assert [finding.severity for finding in found.findings] == [Severity.WARN]


def test_device_class_beside_a_shown_mps_node_lifts_nothing() -> None:
    found = verdict(Shown(nodes=(node("mps"),)), facts=Facts(device_classes=(DeviceClass("c", GPU),)))
    assert [finding.severity for finding in found.findings] == [Severity.DENY]


@pytest.mark.parametrize("spec", [{"gpus": 8}, {"nodeSelector": {POOL: "elsewhere"}}])
def test_pod_that_no_shown_node_takes_is_checked_by_the_assumption(spec: dict[str, Any]) -> None:
    assert codes(verdict(Shown(nodes=(node("none"),)), **spec)) == ["GPS001"]


@pytest.mark.parametrize("gpus", [1, 8])
def test_shown_nodes_make_no_finding_by_what_they_lack(gpus: int) -> None:
    shown = Shown(nodes=(Node("a", {}, (), {"nvidia.com/mig-1g.5gb": 7}),), strategies=frozenset({"none"}))
    assert codes(verdict(shown, gpus=gpus, nodeSelector={POOL: "elsewhere"})) == []


def test_limit_follows_the_configuration_of_shown_nodes() -> None:
    several = PluginConfig("several", "mps", False, (Replicas(GPU, 4),))
    one = PluginConfig("one", "mps", None, (Replicas(GPU, 4),))
    plugin = DevicePlugin(version="v0.20.0", configs=(several, one), default_config="several")
    facts = Facts(device_plugin=plugin)
    assert codes(verdict(UNSHOWN, facts=facts, settings=BY_PLUGIN)) == ["GPS001"]
    assert codes(verdict(Shown(nodes=(node("mps"),)), facts=facts, settings=BY_PLUGIN)) == []


SANDBOX = RuntimeClass("quick", "runsc")


def test_shown_class_is_checked_and_a_missing_one_is_not() -> None:
    shown = Shown(runtime_classes=(SANDBOX,))
    assert codes(verdict(shown, gpus=1, runtimeClassName="quick")) == ["GPS011"]
    assert codes(verdict(shown, gpus=1, runtimeClassName="missing")) == []
    assert codes(verdict(shown, gpus=1)) == []


def test_injection_of_shown_class_follows_it() -> None:
    shown = Shown(runtime_classes=(RuntimeClass("nvidia", "nvidia", {POOL: "gpu"}),))
    assert codes(verdict(shown, gpus=1, nodeSelector={POOL: "cpu"})) == ["GPS011"]
    assert codes(verdict(shown, gpus=1, nodeSelector={POOL: "gpu"})) == []


def test_facts_win_over_shown_classes() -> None:
    facts = Facts(runtime_classes=(RuntimeClass("nvidia", "nvidia"),))
    found = verdict(Shown(runtime_classes=(SANDBOX,)), facts=facts, gpus=1, runtimeClassName="quick")
    assert [finding.message for finding in found.findings] == [
        'RuntimeClass "quick" does not exist; the API server rejects the pod'
    ]
