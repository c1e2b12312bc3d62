"""Pods that a smaller node leaves without room, and the amounts of the whole cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.objects import pod
from webhook.diagnose.plan.report import capacities, node_changes
from webhook.diagnose.pods import LivePod, extended, live_pod
from webhook.diagnose.sharing import Offer
from webhook.diagnose.top import rows

CARD = "nvidia.com/gpu"


def read(*found: Any) -> list[LivePod]:
    return [live_pod(one, extended) for one in found]


def offer(total: int) -> Offer:
    return Offer("gpu-1", "mps", CARD, total, None)


def unfit(before: int, after: list[Offer], pods: list[LivePod]) -> Any:
    return node_changes(rows(pods, lambda one: one.node, [offer(before)]), after)[1]


def test_pods_above_new_total_are_named_largest_first() -> None:
    pods = read(pod("a"), pod("b", 2), pod("elsewhere", node="gpu-2"), pod("done", phase="Succeeded"), pod("none", 0))
    (found,) = unfit(8, [offer(2)], pods)
    assert (found["node"], found["held"], found["total"], found["podCount"]) == ("gpu-1", 3, 2, 2)
    assert [one["name"] for one in found["pods"]] == ["b", "a"]


@pytest.mark.parametrize(("before", "after"), [(8, 3), (2, 2), (2, 4)], ids=["enough", "as before", "more"])
def test_pods_that_fit_or_did_not_fit_before_are_silent(before: int, after: int) -> None:
    assert unfit(before, [offer(after)], read(*(pod(f"p{number}") for number in range(3)))) == []


def test_renamed_resource_leaves_no_room() -> None:
    (found,) = unfit(8, [], read(pod("a")))
    assert (found["held"], found["total"]) == (1, 0)


def test_capacity_is_short_where_all_pods_fitted_before() -> None:
    pods = read(*(pod(f"p{number}", node="" if number else "gpu-1") for number in range(5)))
    (found,) = capacities(pods, [offer(8)], [offer(4)])
    assert found == {"resource": CARD, "asked": 5, "before": 8, "after": 4, "short": True}
    assert not next(capacities(read(pod("a", 9)), [offer(8)], [offer(4)]))["short"]
    assert list(capacities(pods, [offer(8)], [offer(8)])) == []


def test_capacity_begins_at_zero_where_no_node_offers_the_resource() -> None:
    (found,) = capacities([], [], [offer(8)])
    assert (found["before"], found["after"]) == (0, 8)
