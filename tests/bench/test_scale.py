"""The nodes of the scale suite are as large as real ones, and its page has every figure with its goal."""

from __future__ import annotations

import json

import pytest

from bench import scale
from bench.big_cluster import namespace_object, node_name, node_object
from bench.candidates import WEBHOOK
from bench.load_generator import Report
from bench.machine import Machine
from bench.results import Figure, Results
from bench.rounds import Rounds
from bench.scale import CHANGING, IN_PROCESS, LOADING, MEMORY, P99, SHED


def report(**statuses: int) -> Report:
    count = sum(statuses.values())
    found = {name.removeprefix("_"): number for name, number in statuses.items()}
    return Report(count, 1, count, 0, found, {}, {"p50": 0.001, "p99": 0.002})


def test_node_has_60_labels_and_a_name_of_its_own() -> None:
    nodes = [node_object(number) for number in range(6)]
    assert {len(node["metadata"]["labels"]) for node in nodes} == {60}
    assert [node["metadata"]["name"] for node in nodes] == [node_name(number) for number in range(6)]
    assert 8_000 < len(json.dumps(nodes[0])) < 15_000  # the API server adds managedFields


def test_namespace_of_recorded_reviews_exists() -> None:
    assert namespace_object(0)["metadata"]["name"] == "team-a"


def test_shed_reviews_are_a_share_of_all() -> None:
    values = {quantity: value for _, quantity, _, value in scale.latencies(LOADING, report(_200=95, _503=5))}
    assert values == pytest.approx({"p50": 1, "p99": 2, SHED: 5})


def test_section_has_a_row_for_each_case_with_its_figures() -> None:
    cases = [
        (LOADING, P99, 10),
        (CHANGING, MEMORY, 200),
        (f"{IN_PROCESS}: no selector", P99, 1),
        (CHANGING, SHED, None),
    ]
    figures = [Figure(WEBHOOK, case, quantity, "ms", (5.0,), scale.bar(case, quantity)) for case, quantity, _ in cases]
    assert [figure.bar is not None for figure in figures] == [goal is not None for _, _, goal in cases]
    rows = scale.section(Results.of(scale.NAME, Machine.here(), Rounds(1), "", figures)).splitlines()
    for case in (LOADING, CHANGING):
        (row,) = [row for row in rows if row.startswith(f"| {case} |")]
        shown = [quantity for one, quantity, _ in cases if one == case and quantity != SHED]
        assert row.count("5.00") == len(shown)
    assert "In process, p99 of a review is at most 5.00 ms, whatever its selectors." in rows


def test_section_gives_reason_without_tools() -> None:
    found = Results.of(scale.NAME, Machine.here(), Rounds(1), "", skipped={"all": "no API server"})
    assert "Not measured: no API server." in scale.section(found)
