"""The node index is built in steps, and equals one that is built at once, however many nodes there are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import scheduler
from tests.policy.placement.landing import Json, admitted
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.policy.steps import finished

AMOUNT = "nvidia.com/gpu"


def cluster(count: int) -> tuple[Node, ...]:
    """Nodes of several kinds, each kind in every slice."""
    return tuple(
        Node(
            f"node-{index}",
            {"pool": "abc"[index % 3], "rank": str(index), **({"odd": "yes"} if index % 2 else {})},
            (Taint("gpu", "NoSchedule"),) if index % 5 == 0 else (),
            {AMOUNT: index % 7},
        )
        for index in range(count)
    )


def pod(**expression: object) -> Json:
    term = {"matchExpressions": [expression]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    containers = [{"name": "c", "resources": {"limits": {AMOUNT: 1}}}]
    return {"spec": {"containers": containers, "nodeSelector": {}, "affinity": affinity}}


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 300])
@pytest.mark.parametrize(
    "selecting",
    [
        pod(key="pool", operator="In", values=["a", "c"]),
        pod(key="odd", operator="DoesNotExist"),
        pod(key="odd", operator="Exists"),
        pod(key="pool", operator="NotIn", values=["b"]),
    ],
)
def test_nodes_of_all_slices_are_admitted(count: int, selecting: Json) -> None:
    nodes = cluster(count)
    assert admitted(selecting, nodes) == [node for node in nodes if scheduler.admits(selecting, node)]


@pytest.mark.parametrize("count", [64, 65, 300])
def test_numbers_of_all_slices_are_compared(count: int) -> None:
    nodes = cluster(count)
    above = admitted(pod(key="rank", operator="Gt", values=["60"]), nodes)
    assert above == [node for index, node in enumerate(nodes) if index > 60 and not node.taints]


def test_evaluator_is_built_in_slices_of_nodes() -> None:
    facts = Facts(nodes=cluster(640))
    assert sum(1 for _ in OfflineEvaluator.building(Settings(), facts)) >= 10


def test_steps_that_are_finished_at_once_give_their_result() -> None:
    assert finished(OfflineEvaluator.building(Settings(), Facts())).snapshot.facts == Facts()


@pytest.mark.parametrize(
    "node",
    [
        lambda number: Node(f"n{number}", {"rank": str(number)}),
        lambda number: Node(f"n{number}", {}, (Taint("team", "NoSchedule", str(number)),)),
        lambda number: Node(f"n{number}", {}, (Taint(f"team-{number}", "NoSchedule"),)),
        lambda number: Node(f"n{number}", {}, (), {AMOUNT: number}),
    ],
    ids=["label", "taint's value", "taint's key", "amount"],
)
def test_value_of_each_node_adds_steps(node: Callable[[int], Node]) -> None:
    """What all nodes have in different form is not indexed in one step at the end."""

    def steps(count: int, make: Callable[[int], Node]) -> int:
        return sum(1 for _ in OfflineEvaluator.building(Settings(), Facts(nodes=tuple(map(make, range(count))))))

    plain = steps(4096, lambda number: Node(f"n{number}"))
    assert steps(4096, node) >= plain + 4
    assert steps(64, node) == steps(64, lambda number: Node(f"n{number}"))
