"""Nodes under a new configuration of the device plugin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest

from webhook.cluster.reading import Owner
from webhook.diagnose.plan.report import Data, node_changes
from webhook.diagnose.plan.worlds import planned_nodes
from webhook.diagnose.pods import LivePod
from webhook.diagnose.sharing import offers
from webhook.diagnose.top import rows
from webhook.policy.placement.cluster_objects import DevicePlugin, Node, PluginConfig, Replicas
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings

CARD, RENAMED, MIG = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"
DISCOVERED = {
    "nvidia.com/gpu.count": "2",
    "nvidia.com/gpu.memory": "15360",
    "nvidia.com/gpu.product": "Tesla-T4-SHARED",
    "nvidia.com/gpu.replicas": "4",
    "nvidia.com/gpu.sharing-strategy": "mps",
    "nvidia.com/mps.capable": "true",
}


def config(strategy: str, replicas: int = 0, name: str = "default", resource: str = CARD) -> PluginConfig:
    resources = (Replicas(resource, replicas),) if replicas else ()
    return PluginConfig(name, strategy, None, resources)  # type: ignore[arg-type]


def plugin(*configs: PluginConfig, default: str | None = "default") -> DevicePlugin:
    return DevicePlugin(version="v0.17.0", configs=configs, default_config=default)


MPS_4, MPS_8 = config("mps", 4), config("mps", 8)
NODE = Node("gpu-1", DISCOVERED, (), {CARD: 8})


class Planned(NamedTuple):
    nodes: Sequence[Node]
    restarts: Sequence[str]
    notes: Sequence[str]


def planned(node: Node, before: DevicePlugin | None, after: DevicePlugin) -> Planned:
    facts = Facts(nodes=(node,), device_plugin=before), Facts(device_plugin=after)
    return Planned(*planned_nodes(Settings(), *facts))


def labels(node: Node) -> dict[str, str]:
    return {key.partition("/")[2]: value for key, value in node.labels.items()}


def test_more_replicas_per_card() -> None:
    found = planned(NODE, plugin(MPS_4), plugin(MPS_8))
    (node,) = found.nodes
    assert node.resources == {CARD: 16}
    assert node.labels == {**DISCOVERED, "nvidia.com/gpu.replicas": "8"}
    assert found.restarts == ["gpu-1"]


@pytest.mark.parametrize(
    ("after", "resources", "expected"),
    [
        (config("none"), {CARD: 2}, {"gpu.sharing-strategy": "none", "gpu.replicas": "1", "gpu.product": "Tesla-T4"}),
        (
            config("time-slicing", 3),
            {CARD: 6},
            {"gpu.sharing-strategy": "time-slicing", "gpu.replicas": "3", "gpu.product": "Tesla-T4-SHARED"},
        ),
        (
            config("mps", 5, resource=RENAMED),
            {CARD: 0, RENAMED: 10},
            {"gpu.sharing-strategy": "mps", "gpu.replicas": "5", "gpu.product": "Tesla-T4"},
        ),
    ],
    ids=["whole cards", "time-slicing", "renamed"],
)
def test_labels_follow_as_feature_discovery_sets_them(
    after: PluginConfig, resources: dict[str, int], expected: dict[str, str]
) -> None:
    (node,) = planned(NODE, plugin(MPS_4), plugin(after)).nodes
    found = labels(node)
    assert node.resources == resources
    assert {key: found[key] for key in expected} == expected
    assert found["mps.capable"] == str(after.strategy == "mps").lower()


def test_label_of_node_names_its_configuration() -> None:
    node = replace(NODE, labels={**DISCOVERED, "nvidia.com/device-plugin.config": "large"})
    found = planned(node, plugin(MPS_4, config("mps", 4, "large")), plugin(MPS_8, config("mps", 16, "large")))
    assert found.nodes[0].resources == {CARD: 32}


def test_equal_configuration_under_another_name_changes_nothing() -> None:
    found = planned(NODE, plugin(MPS_4), plugin(config("mps", 4, "other"), default="other"))
    assert (found.nodes, found.restarts) == ((NODE,), [])


def test_option_alone_restarts_the_plugin() -> None:
    found = planned(NODE, plugin(MPS_4), plugin(replace(MPS_4, fail_requests_greater_than_one=False)))
    assert (found.nodes, found.restarts) == ((NODE,), ["gpu-1"])


def test_node_whose_label_names_no_new_configuration_is_kept() -> None:
    node = replace(NODE, labels={**DISCOVERED, "nvidia.com/device-plugin.config": "gone"})
    found = planned(node, plugin(MPS_4, config("mps", 2, "gone")), plugin(MPS_8))
    assert (found.nodes, found.restarts) == ((node,), [])
    assert found.notes[0].startswith("node gpu-1: neither its label nor the default names a new configuration")


def test_unknown_default_is_not_that_nothing_changes() -> None:
    found = planned(NODE, None, plugin(MPS_4, config("mps", 8, "other"), default=None))
    assert (found.nodes, found.restarts) == ((NODE,), [])
    assert "the default is unknown, so that its change is unknown" in found.notes[0]


def test_cards_are_counted_by_amount_without_feature_discovery() -> None:
    node = Node("gpu-1", {"nvidia.com/mps.capable": "true"}, (), {CARD: 20})
    (found,) = planned(node, plugin(config("mps", 10)), plugin(config("time-slicing", 4))).nodes
    assert found.resources == {CARD: 8}
    assert found.labels == node.labels  # written by hand


def test_cards_are_counted_by_label_of_replicas_where_configuration_is_unknown() -> None:
    node = Node("gpu-1", {"nvidia.com/gpu.replicas": "10"}, (), {CARD: 20})
    (found,) = planned(node, None, plugin(MPS_4)).nodes
    assert (found.resources, labels(found)["gpu.replicas"]) == ({CARD: 8}, "4")


@pytest.mark.parametrize(
    ("amount", "before", "labelled"),
    [
        (0, plugin(MPS_4), {}),
        (5, plugin(MPS_4), {}),
        (8, None, {}),
        (8, None, {"nvidia.com/gpu.sharing-strategy": "mps"}),
    ],
    ids=["plugin is down", "configuration is not in force", "nothing known", "strategy alone"],
)
def test_cards_that_nothing_counts_are_unknown(
    amount: int, before: DevicePlugin | None, labelled: dict[str, str]
) -> None:
    node = Node("gpu-1", labelled, (), {CARD: amount})
    found = planned(node, before, plugin(MPS_8))
    assert (found.nodes, found.restarts) == ((node,), ["gpu-1"] if before else [])
    assert found.notes[0].startswith("node gpu-1: neither labels nor amounts show how many cards it has")


def test_amount_counts_cards_where_label_says_that_they_are_whole() -> None:
    node = Node("gpu-1", {"nvidia.com/gpu.sharing-strategy": "none"}, (), {CARD: 2})
    (found,) = planned(node, None, plugin(MPS_4)).nodes
    assert found.resources == {CARD: 8}


def test_mig_devices_are_shared_by_their_own_name() -> None:
    node = Node("gpu-1", {**DISCOVERED, "nvidia.com/gpu.replicas": "0"}, (), {MIG: 7})
    (found,) = planned(node, plugin(config("none")), plugin(config("time-slicing", 2, resource=MIG))).nodes
    assert (found.resources, labels(found)["gpu.replicas"]) == ({MIG: 14}, "0")


def test_node_without_gpus_stays() -> None:
    node = Node("cpu-1", {}, (), {})
    assert planned(node, plugin(MPS_4), plugin(MPS_8)) == ((node,), [], [])


def changes(before: PluginConfig, after: PluginConfig) -> Sequence[Data]:
    was = Facts(nodes=(NODE,), device_plugin=plugin(before))
    nodes, *_ = planned_nodes(Settings(), was, Facts(device_plugin=plugin(after)))
    becomes = Facts(nodes=nodes, device_plugin=plugin(after))
    held = LivePod("team-a", "a", Owner("Pod", "a"), "gpu-1", "Running", "", {CARD: 5})
    now = rows([held], lambda pod: pod.node, offers(Settings(), was))
    return node_changes(now, offers(Settings(), becomes))[0]


def test_change_names_totals_shares_and_what_is_held() -> None:
    (one,) = changes(MPS_4, MPS_8)
    assert one == {
        "node": "gpu-1",
        "resource": CARD,
        "before": {"strategy": "mps", "total": 8, "shareMiB": 3840},
        "after": {"strategy": "mps", "total": 16, "shareMiB": 1920},
        "held": 5,
    }


def test_renamed_resource_is_two_changes() -> None:
    found = changes(MPS_4, config("mps", 4, resource=RENAMED))
    totals = [[one[part] and one[part]["total"] for part in ("before", "after")] for one in found]
    assert [(one["resource"], *each) for one, each in zip(found, totals, strict=True)] == [
        (CARD, 8, 0),
        (RENAMED, None, 8),
    ]


def test_node_that_stays_is_no_change() -> None:
    assert changes(MPS_4, replace(MPS_4, fail_requests_greater_than_one=True)) == []
