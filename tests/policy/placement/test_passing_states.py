"""A node's passing state neither lifts a limit nor imposes one: it only makes GPS014 warn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests import scheduler
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import DevicePlugin, Node, PluginConfig, Replicas, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import CAPABLE, CONFIG_LABEL, STRATEGY
from webhook.policy.settings.settings import Injections, Limits, Settings, SteeringInjection
from webhook.policy.verdict import Decision, Finding, Severity, Verdict

Json = dict[str, Any]

GPU = "nvidia.com/gpu"
POOL = "pool"
OFFERED = 8
"""Units of every node, more than any pod here asks for: while a device plugin restarts, the amount is unknown."""

SHARED = (Replicas(GPU, 4),)
PLUGIN = DevicePlugin(
    version="v0.20.0",
    configs=(
        PluginConfig("whole"),
        PluginConfig("mps", "mps", resources=SHARED),
        PluginConfig("mps-lenient", "mps", fail_requests_greater_than_one=False, resources=SHARED),
        PluginConfig("sliced", "time-slicing", resources=SHARED),
        PluginConfig("sliced-strict", "time-slicing", fail_requests_greater_than_one=True, resources=SHARED),
    ),
    default_config="whole",
)
KINDS: dict[str, dict[str, str]] = {
    "mps": {STRATEGY: "mps", CAPABLE: "true", CONFIG_LABEL: "mps"},
    "mps-lenient": {STRATEGY: "mps", CAPABLE: "true", CONFIG_LABEL: "mps-lenient"},
    "mps-undiscovered": {CONFIG_LABEL: "mps"},
    "sliced": {STRATEGY: "time-slicing", CONFIG_LABEL: "sliced"},
    "sliced-strict": {STRATEGY: "time-slicing", CONFIG_LABEL: "sliced-strict"},
    "whole": {STRATEGY: "none"},
}
REFUSING = {"mps", "mps-undiscovered", "sliced-strict"}
"""The kinds whose device plugin refuses more than one replica (NVIDIA/k8s-device-plugin internal/rm)."""


def tainted(node: Node, *taints: Taint) -> Node:
    return replace(node, taints=(*node.taints, *taints))


def steady(node: Node) -> Node:
    return node


def cordoned(node: Node) -> Node:
    return tainted(node, Taint("node.kubernetes.io/unschedulable", "NoSchedule"))


def not_ready(node: Node) -> Node:
    key = "node.kubernetes.io/not-ready"
    return tainted(node, Taint(key, "NoSchedule"), Taint(key, "NoExecute"))


def unreachable(node: Node) -> Node:
    key = "node.kubernetes.io/unreachable"
    return tainted(node, Taint(key, "NoSchedule"), Taint(key, "NoExecute"))


def restarting(node: Node) -> Node:
    """The kubelet reports 0 while the device plugin is not registered."""
    return replace(node, resources=dict.fromkeys(node.resources, 0))


STATES = [cordoned, not_ready, unreachable, restarting]


def node_of(kind: str, name: str = "n0", **labels: str) -> Node:
    return Node(name, KINDS[kind] | labels, (), {GPU: OFFERED})


def pod_of(amount: int, **spec: Any) -> Json:
    container = {"name": "c", "image": "i", "resources": {"limits": {GPU: amount}}}
    return {"metadata": {"name": "p"}, "spec": {"nodeSelector": {}, "containers": [container], **spec}}


def verdict(pod: Json, nodes: tuple[Node, ...], settings: Settings) -> Verdict:
    evaluator = OfflineEvaluator.of(settings, Facts(nodes, device_plugin=PLUGIN))
    return evaluator.evaluate(pod, "", "Pod", RequestContext("team-a"))


def others_than_gps014(found: Verdict) -> list[Finding]:
    return [one for one in found.findings if one.code != "GPS014"]


LIMITS = Limits(per_pod=None, from_device_plugin=True)
SETTINGS = {
    "limits of the plugin": Settings(limits=LIMITS),
    "limits of the settings": Settings(),
    "steering": Settings(limits=LIMITS, injections=Injections(steering=SteeringInjection(enabled=True))),
}


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_only_node_in_passing_state_decides_by_its_plugin(kind: str, state: Any) -> None:
    found = verdict(pod_of(2), (state(node_of(kind)),), SETTINGS["limits of the plugin"])
    assert found.decision is (Decision.DENIED if kind in REFUSING else Decision.WARNED)
    (warning,) = [one for one in found.findings if one.code == "GPS014"]
    assert warning.severity is Severity.WARN
    assert warning.message.startswith('no node can take the pod now: the nearest, "n0", ')


@st.composite
def clusters(draw: st.DrawFn) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Nodes in service, and the same nodes of which some pass through a state."""
    nodes, states = [], []
    for index in range(draw(st.integers(1, 4))):
        kind, pool = draw(st.sampled_from(sorted(KINDS))), draw(st.sampled_from("ab"))
        node = node_of(kind, f"n{index}", **{POOL: pool})
        if draw(st.integers(0, 3)) == 0:
            node = tainted(node, Taint("dedicated", "NoSchedule"))
        nodes.append(node)
        states.append(draw(st.sampled_from([steady, *STATES]))(node))
    return tuple(nodes), tuple(states)


@st.composite
def pods(draw: st.DrawFn) -> Json:
    selectors: list[Json] = [{}, {}, {POOL: "a"}, {STRATEGY: "time-slicing"}, {CONFIG_LABEL: "mps-lenient"}]
    return pod_of(draw(st.integers(1, 3)), nodeSelector=draw(st.sampled_from(selectors)))


@settings(max_examples=300)
@given(pods(), clusters(), st.sampled_from(sorted(SETTINGS)))
def test_passing_state_changes_nothing_but_gps014(
    pod: Json, cluster: tuple[tuple[Node, ...], tuple[Node, ...]], chosen: str
) -> None:
    in_service, now = cluster
    before, after = (verdict(pod, nodes, SETTINGS[chosen]) for nodes in cluster)
    event(f"{after.decision.label}, in a passing state: {in_service != now}")
    assert others_than_gps014(after) == others_than_gps014(before)
    assert after.edits == before.edits


@settings(max_examples=300)
@given(pods(), clusters())
def test_pod_that_waits_for_passing_state_is_warned_of(
    pod: Json, cluster: tuple[tuple[Node, ...], tuple[Node, ...]]
) -> None:
    in_service, now = cluster
    taking = [node for node in now if scheduler.admits(pod, node) and node.resources[GPU]]
    later = [node for node in in_service if scheduler.admits(pod, node)]
    event(f"now: {bool(taking)}, later: {bool(later)}")
    found = [one for one in verdict(pod, now, SETTINGS["limits of the plugin"]).findings if one.code == "GPS014"]
    assert bool(found) is not bool(taking)
    if found:
        assert ("the pod now" in found[0].message) is bool(later)


def test_steered_pod_waits_for_cordoned_whole_cards() -> None:
    nodes = (node_of("mps", "shared"), cordoned(node_of("whole", "whole")))
    found = verdict(pod_of(2), nodes, SETTINGS["steering"])
    assert [(one.code, one.severity) for one in found.findings] == [("GPS014", Severity.WARN)]
    assert 'the nearest, "whole", has the taint' in found.findings[0].message
