"""The node index is built in steps, however many nodes there are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.policy.steps import finished

AMOUNT = "nvidia.com/gpu"


def test_evaluator_is_built_in_steps() -> None:
    taints = (Taint("gpu", "NoSchedule"),)
    nodes = tuple(Node(f"n{number}", {"pool": "a", "rank": str(number)}, taints, {AMOUNT: 4}) for number in range(640))
    assert sum(1 for _ in OfflineEvaluator.building(Settings(), Facts(nodes=nodes))) >= 10


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
