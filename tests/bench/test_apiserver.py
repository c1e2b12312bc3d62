"""What a hook adds is the difference to a create without one, and all candidates make the same pod."""

from __future__ import annotations

import pytest

from bench import apiserver
from bench.admission import CONSTANT_PATCH
from bench.apiserver import ADDED, BOTH, CASE, GUARD, MUTATING, NONE, NotSameError
from bench.candidates import CONSTANT, TYPED
from bench.machine import Machine
from bench.results import Results, load
from bench.rounds import Rounds

NAMES = [NONE, GUARD, CONSTANT, CONSTANT_PATCH, MUTATING, TYPED, BOTH]
TAKEN = {
    name: [[milliseconds] * 10, [2 * milliseconds] * 10]
    for name, milliseconds in zip(NAMES, (2.0, 3.2, 3.5, 4.0, 4.1, 6.0, 5.0), strict=True)
}


def made() -> Results:
    figures = apiserver.figures_of(TAKEN)
    return Results.of("apiserver", Machine.here(), Rounds(2), "", figures, apiserver.ratios_of(figures))


def test_added_time_is_the_difference_to_no_webhook_round_by_round() -> None:
    assert made().figure(MUTATING, CASE, ADDED).values == pytest.approx((2.1, 4.2))
    assert made().figure(BOTH, CASE, ADDED).values == pytest.approx((3.0, 6.0))


def test_goal_compares_both_hooks_with_servers_that_decide_nothing() -> None:
    (ratio,) = made().ratios
    assert (ratio.subject, ratio.over, str(ratio.bar)) == (BOTH, "constant patch + constant answer", "≤ 1.1")
    assert ratio.values == pytest.approx((3.0 / 3.5, 3.0 / 3.5))


def test_percentiles_lie_between_the_samples() -> None:
    times = [float(number) for number in range(1, 102)]
    assert apiserver.percentile(times, 50) == 51
    assert apiserver.percentile(times, 99) == 100


def test_different_pods_are_not_compared() -> None:
    with pytest.raises(NotSameError, match="a and b make different pods"):
        apiserver.require_same({"a": {"spec": 1}, "b": {"spec": 2}})


def test_section_has_a_row_for_each_candidate() -> None:
    shown = apiserver.section(made())
    assert "| no webhook | 3.00 |" in shown
    assert [name for name in NAMES if f"| {name} |" not in shown] == []


def test_missing_control_plane_skips_the_suite(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = apiserver.run(Machine.here(), Rounds(1))
    assert "run `make cluster-tools`" in found.skipped["all"]
    assert "Not measured: " in apiserver.section(found)


def test_committed_results_have_every_candidate() -> None:
    found = load(apiserver.NAME)
    assert {figure.subject for figure in found.figures} | set(found.skipped) == set(NAMES)
