"""Memory of a replica: what GPS006 takes as the share of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import CARD_MEMORY, REPLICAS, STRATEGY
from webhook.policy.placement.node_index import MOST_KINDS
from webhook.policy.settings.settings import Settings

GPU = "nvidia.com/gpu"


def labelled(name: str, memory: str, replicas: str, labels: dict[str, str] | None = None, units: int = 4) -> Node:
    return Node(name, {STRATEGY: "mps", CARD_MEMORY: memory, REPLICAS: replicas} | (labels or {}), (), {GPU: units})


def findings(limit: str, *nodes: Node) -> list[str]:
    """The messages about a limit of the MPS client on these nodes."""
    variable = {"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": f"0={limit}"}
    container: dict[str, Any] = {"name": "c", "resources": {"limits": {GPU: 1}}, "env": [variable]}
    pod = {"spec": {"containers": [container]}}
    verdict = OfflineEvaluator.of(Settings(), Facts(nodes=nodes)).evaluate(
        pod, "", "Pod", RequestContext("default", groups=())
    )
    return [one.message for one in verdict.findings if one.code == "GPS006"]


@pytest.mark.parametrize(("limit", "has_effect"), [("4096M", True), ("4097M", False)])
def test_share_is_rounded_down_to_mebibytes(limit: str, has_effect: bool) -> None:
    """A quarter of 16,385 MiB is 4,096 MiB: the plugin rounds down."""
    assert (findings(limit, labelled("n", "16385", "4")) == []) is has_effect


def test_share_is_unknown_with_too_many_kinds_of_nodes() -> None:
    nodes = [labelled(f"n{at}", str(16384 + at), "4") for at in range(MOST_KINDS + 1)]
    assert findings("40G", *nodes) == []
    assert findings("40G", *nodes[1:]) != []


def test_node_whose_plugin_is_not_running_keeps_its_share() -> None:
    restarting, running = labelled("a", "40960", "4", units=0), labelled("b", "16384", "4")
    assert findings("10G", restarting, running) == []
    assert findings("10G", running) != []


@pytest.mark.parametrize(("replicas", "is_known"), [("1", True), ("10", True), ("0", False), ("abc", False)])
def test_label_counts_replicas_only_from_1_up(replicas: str, is_known: bool) -> None:
    assert (findings("40G", labelled("n", "16384", replicas)) != []) is is_known
