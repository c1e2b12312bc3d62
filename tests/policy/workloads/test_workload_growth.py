"""CPU time and memory grow linearly with every list, mapping and text of each kind of workload, alone and in pairs."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from tests.policy.workloads.workload_growth import (
    ANSWERS,
    Growth,
    Member,
    compared,
    objects,
    pairs,
    problem,
    problem_of_memory,
    singles,
    size_of,
)
from webhook.policy.workloads.kinds import group_of
from webhook.policy.workloads.presets import PRESETS

_DAY = int(time.time() // 86_400)


def of_the_day(growths: Sequence[Growth], days: int) -> Sequence[Growth]:
    """A part of all: each one's turn comes within this number of days."""
    return growths[_DAY % days :: days]


def assert_linear(growths: Sequence[Growth]) -> None:
    found = [problem(growth, size_of(growth), answer) for growth in growths for answer in ANSWERS]
    assert not any(found), [one for one in found if one]


def test_each_kind_of_a_preset_grows() -> None:
    grown = {(group_of(one["apiVersion"]), one["kind"]) for one in objects()}
    every = [one for preset in PRESETS for one in preset.kinds]
    # Kinds with the same paths grow alike.
    assert {one.paths for one in every} == {one.paths for one in every if (one.group, one.kind) in grown}


def test_all_lists_mappings_and_texts_grow() -> None:
    one = {"apiVersion": "v1", "kind": "A", "spec": {"a": [{"b": "c"}], "d": "e"}}
    growth = Growth(one, (Member(("spec", "a"), True), Member(("spec", "a", 0, "b"), "x"), Member(("spec",), False)))
    assert growth.grown(2)["spec"] == {
        **{"a": [{"b": "cxx"}, {"b": "c"}, {"b": "c"}], "d": "e"},
        **{"k0": "1", "k1": "1"},
    }
    assert Growth(one, (Member(("spec",), True),)).grown(2)["spec"].keys() == {"a", "d", "a0", "d1"}


@pytest.mark.slow
def test_cpu_time_is_linear_in_some_members_of_each_preset() -> None:
    assert_linear(of_the_day(list(singles()), 100))


@pytest.mark.slow
def test_cpu_time_is_linear_in_some_pairs_of_members() -> None:
    assert_linear(of_the_day(list(pairs()), 300))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_cpu_time_is_linear_in_more_members_and_pairs() -> None:
    assert_linear((*of_the_day(list(singles()), 20), *of_the_day(list(pairs()), 40)))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_memory_is_linear_in_members_of_each_preset() -> None:
    growths = of_the_day(list(singles()), 40)
    found = [problem_of_memory(growth, size_of(growth), answer) for growth in growths for answer in ANSWERS]
    assert not any(found), [one for one in found if one]


GROWING = Growth({"apiVersion": "v1", "kind": "A", "items": ["a"]}, (Member(("items",), True),))


@pytest.mark.slow
def test_quadratic_growth_is_detected() -> None:
    assert not compared(GROWING, 500, lambda made, _: sum(1 for _ in made["items"] for _ in made["items"])).is_linear
    assert compared(GROWING, 500, lambda made, _: sum(1 for _ in made["items"] for _ in range(500))).is_linear


def test_quadratic_memory_is_detected() -> None:
    assert problem_of_memory(GROWING, 100, lambda made, _: [0] * len(made["items"]) ** 2)
    assert not problem_of_memory(GROWING, 100, lambda made, _: [0] * len(made["items"]) * 100)
