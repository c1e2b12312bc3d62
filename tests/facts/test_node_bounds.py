"""How much of a node is read: exactly the bounds, one entry more, and what is kept of a node beyond them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.facts.fake_cluster import NODES, FakeCluster
from tests.pki.virtual import virtual
from webhook.cluster.facts import read_facts
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import LONGEST_KEY, LONGEST_VALUE, MOST, Decisive
from webhook.policy.settings.settings import FactsSettings, Settings
from webhook.settings.facts_file import portable, spelled_out
from webhook.settings.load import load_facts

pytestmark = virtual

MOST_LABELS, MOST_TAINTS, MOST_RESOURCES = MOST["labels"], MOST["taints"], MOST["resources"]
GPU = "nvidia.com/gpu"
CUSTOM = "example.com/gpu"
DECISIVE = Decisive(resources=frozenset({CUSTOM}))


def api_node(
    labels: dict[str, str] | None = None, taints: Iterable[tuple[str, str]] = (), units: dict[str, str] | None = None
) -> dict[str, Any]:
    """A node as the API server has it, that offers a GPU."""
    offered = {GPU: "4"} if units is None else units
    listed = [{"key": key, "value": value, "effect": "NoSchedule"} for key, value in taints]
    return {
        "metadata": {"labels": labels or {}},
        "spec": {"taints": listed},
        "status": {"capacity": offered, "allocatable": offered},
    }


async def read(found: dict[str, Any]) -> Node:
    """The node as it is read. A facts file of it holds the same."""
    cluster = FakeCluster()
    cluster.put(NODES, "n", found)
    facts = await read_facts(cluster, FactsSettings(nodes=True), DECISIVE)
    (node,) = facts.nodes or ()
    written = spelled_out(portable(facts, Settings()))
    assert load_facts(written, lambda _: (1, 1), "facts.yaml", DECISIVE) == Facts(nodes=(node,))
    return node


def labels(count: int, prefix: str = "l") -> dict[str, str]:
    return {f"{prefix}{number:05}": "x" for number in range(count)}


@pytest.mark.parametrize("more", [0, 1])
async def test_label_beyond_the_bound_is_left_out_and_marks_node(more: int) -> None:
    node = await read(api_node(labels(MOST_LABELS + more)))
    assert node.labels == labels(MOST_LABELS)
    assert node.incomplete == ("labels",) * more
    assert node.resources == {GPU: 4}


async def test_labels_of_gpus_are_kept_first_and_those_of_features_last() -> None:
    gpus = {"nvidia.com/gpu.product": "T4", "nvidia.com/mps.capable": "true"}
    others = labels(MOST_LABELS - 3, "z") | {"kubernetes.io/hostname": "n"}
    features = labels(1000, "feature.node.kubernetes.io/cpu-")
    node = await read(api_node(features | others | gpus))
    assert node.labels == gpus | others
    assert node.incomplete == ("labels",)


@pytest.mark.parametrize(("key", "value"), [(LONGEST_KEY + 1, 1), (1, LONGEST_VALUE + 1)])
async def test_label_longer_than_kubernetes_allows_is_not_kept(key: int, value: int) -> None:
    longest = {"k" * LONGEST_KEY: "v" * LONGEST_VALUE}
    assert (await read(api_node(longest))).labels == longest
    node = await read(api_node(longest | {"x" * key: "y" * value}))
    assert node.labels == longest
    assert node.incomplete == ("labels",)


@pytest.mark.parametrize("more", [0, 1])
async def test_taint_beyond_the_bound_is_left_out_and_marks_node(more: int) -> None:
    node = await read(api_node(taints=[(f"t{number:05}", "") for number in reversed(range(MOST_TAINTS + more))]))
    assert node.taints == tuple(Taint(f"t{number:05}", "NoSchedule") for number in range(MOST_TAINTS))
    assert node.incomplete == ("taints",) * more


@pytest.mark.parametrize(("key", "value"), [(LONGEST_KEY + 1, 1), (1, LONGEST_VALUE + 1)])
async def test_taint_longer_than_kubernetes_allows_is_not_kept(key: int, value: int) -> None:
    longest = ("k" * LONGEST_KEY, "v" * LONGEST_VALUE)
    node = await read(api_node(taints=[longest, ("x" * key, "y" * value)]))
    assert node.taints == (Taint(longest[0], "NoSchedule", longest[1]),)
    assert node.incomplete == ("taints",)


async def test_as_many_resources_as_the_bound_are_all_kept() -> None:
    units = {f"nvidia.com/x{number:05}": "1" for number in range(MOST_RESOURCES)}
    node = await read(api_node(units=units))
    assert node.resources == dict.fromkeys(units, 1)
    assert node.incomplete == ()


async def test_configured_resources_are_kept_first_then_those_of_gpus() -> None:
    others = {f"nvidia.com/a{number:05}": "1" for number in range(1000)}
    decisive = {CUSTOM: "2", GPU: "3", "nvidia.com/mig-1g.5gb": "7"}
    node = await read(api_node(units=others | decisive))
    assert node.resources.items() >= {CUSTOM: 2, GPU: 3, "nvidia.com/mig-1g.5gb": 7}.items()
    assert len(node.resources) == MOST_RESOURCES
    assert node.incomplete == ("resources",)


async def test_resource_longer_than_kubernetes_allows_is_not_kept() -> None:
    long = "nvidia.com/" + "x" * LONGEST_KEY
    node = await read(api_node(units={GPU: "1", long: "1", long[:LONGEST_KEY]: "1"}))
    assert node.resources == {GPU: 1, long[:LONGEST_KEY]: 1}
    assert node.incomplete == ("resources",)


async def test_few_resources_of_others_count() -> None:
    units = {f"example.org/x{number}": "1" for number in range(1000)} | {GPU: "1"}
    node = await read(api_node(units=units))
    assert len(node.resources) == 17
    assert node.resources[GPU] == 1
    assert node.incomplete == ()


def test_resource_of_settings_is_kept_of_a_facts_file() -> None:
    units = {f"nvidia.com/a{number:05}": 1 for number in range(MOST_RESOURCES)} | {CUSTOM: 2}
    many = {"nodes": [{"name": "n", "resources": units}]}
    (node,) = load_facts(many, lambda _: (1, 1), "facts.yaml", DECISIVE).nodes or ()
    assert node.resources[CUSTOM] == 2
    assert len(node.resources) == MOST_RESOURCES


def test_facts_file_is_bounded_like_the_cluster() -> None:
    """A file that another tool made, or an earlier release."""
    many = {
        "nodes": [
            {"name": "plain", "labels": {"a": "b"}},
            {
                "name": "n",
                "labels": labels(MOST_LABELS + 1),
                "taints": [{"key": f"t{number:05}", "effect": "NoExecute"} for number in range(MOST_TAINTS + 1)],
                "resources": {f"x{number:05}": 1 for number in range(MOST_RESOURCES)} | {GPU: 1},
                "incomplete": ["taints"],
            },
        ]
    }
    plain, node = load_facts(many, lambda _: (1, 1), "facts.yaml").nodes or ()
    assert plain == Node("plain", {"a": "b"})
    assert [len(node.labels), len(node.taints), len(node.resources)] == [MOST_LABELS, MOST_TAINTS, MOST_RESOURCES]
    assert node.resources[GPU] == 1
    assert node.incomplete == ("labels", "taints", "resources")
