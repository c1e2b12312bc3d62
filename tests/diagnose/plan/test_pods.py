"""Pods that a smaller node leaves without room, and a smaller share without memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.diagnose.objects import pod
from webhook.diagnose.plan.effects import Capacity, GpuPods, NodeChange, Unfit, capacities
from webhook.diagnose.plan.effects import unfit as unfit_of
from webhook.diagnose.pods import held_by_node
from webhook.diagnose.sharing import Offer
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.settings.settings import Settings

CARD = "nvidia.com/gpu"
LOOKUP = GpuResources(Settings().resources).find
OFFERED = (Offer("gpu-1", "mps", CARD, 8, None),)
PINNED = "gpushare-webhook/pinned-device-memory-limit"


def read(*found: Any) -> GpuPods:
    pods = GpuPods(LOOKUP)
    for one in found:
        pods.add(one)
    return pods


def unfit(changes: Iterable[NodeChange], pods: GpuPods) -> list[Unfit]:
    return list(unfit_of(changes, held_by_node(pods.pods), pods.limits))


def change(before: int, after: int, held: int, shares: tuple[int | None, int | None] = (None, None)) -> NodeChange:
    was, becomes = (
        Offer("gpu-1", "mps", CARD, total, share) for total, share in zip((before, after), shares, strict=True)
    )
    return NodeChange("gpu-1", CARD, was, becomes, held)


def named(found: Unfit) -> list[str]:
    return [one.name for one in found.pods]


def test_pods_above_new_total_are_named_largest_first() -> None:
    pods = read(pod("a"), pod("b", 2), pod("elsewhere", node="gpu-2"), pod("done", phase="Succeeded"), pod("none", 0))
    (found,) = unfit([change(8, 2, 3)], pods)
    assert (found.wanted, found.left, found.is_memory, named(found)) == (3, 2, False, ["b", "a"])


@pytest.mark.parametrize(("before", "after"), [(8, 3), (2, 2), (2, 4)], ids=["enough", "as before", "more"])
def test_pods_that_fit_or_did_not_fit_before_are_silent(before: int, after: int) -> None:
    pods = read(*(pod(f"p{number}") for number in range(3)))
    assert unfit([change(before, after, 3)], pods) == []


def test_renamed_resource_leaves_no_room() -> None:
    (found,) = unfit([NodeChange("gpu-1", CARD, Offer("gpu-1", "mps", CARD, 8, None), None, 1)], read(pod("a")))
    assert (found.wanted, found.left) == (1, 0)


def variable(value: str) -> dict[str, Any]:
    made = pod("limited")
    made["spec"]["containers"][0]["env"] = [{"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": value}]
    return made


@pytest.mark.parametrize(
    "counting",
    [
        pod("pinned", metadata={"annotations": {PINNED: "3G"}}),
        variable("0=3G"),
    ],
    ids=["annotation", "variable"],
)
def test_pod_that_counts_on_more_memory_than_smaller_share(counting: dict[str, Any]) -> None:
    smaller, larger = change(8, 16, 1, (3840, 1920)), change(8, 4, 1, (3840, 7680))
    (found,) = unfit([smaller], read(counting))
    assert (found.wanted, found.left, found.is_memory) == (3072, 1920, True)
    assert unfit([larger], read(counting)) == []
    assert unfit([change(8, 16, 1, (2048, 1920))], read(counting)) == []  # in vain before, too


@pytest.mark.parametrize("value", ["3", "many", ""])
def test_malformed_memory_counts_on_nothing(value: str) -> None:
    found = read(pod("a", metadata={"annotations": {PINNED: value}}))
    assert (len(found.pods), found.limits) == (1, {})


def test_capacity_is_short_where_all_pods_fitted_before() -> None:
    pods = read(*(pod(f"p{number}", node="" if number else "gpu-1") for number in range(5)))
    (found,) = capacities([change(8, 4, 1)], OFFERED, pods.pods)
    assert found == Capacity(CARD, 5, 8, 4)
    assert found.is_short
    assert not Capacity(CARD, 9, 8, 4).is_short
    assert list(capacities([change(8, 8, 1)], OFFERED, pods.pods)) == []


def test_capacity_begins_at_zero_where_no_node_offers_the_resource() -> None:
    offered = NodeChange("gpu-1", CARD, None, Offer("gpu-1", "mps", CARD, 8, None), 0)
    assert list(capacities([offered], (), ())) == [Capacity(CARD, 0, 0, 8)]
