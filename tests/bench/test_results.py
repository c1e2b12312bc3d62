"""Figures and ratios: spreads, pairs within a round, and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.machine import Machine
from bench.results import Bar, Figure, NoSuchFigureError, Ratio, Results, Spread, load, save


def figure(subject: str, *values: float) -> Figure:
    return Figure(subject, "2 kB", "throughput", "reviews/s", values)


def results(*figures: Figure, ratios: tuple[Ratio, ...] = ()) -> Results:
    return Results("sample", Machine.here(), 3, "by hand", figures, ratios, {"absent": "no compiler"}, ("a note",))


def test_spread_is_smallest_median_and_largest() -> None:
    assert figure("ours", 30, 10, 20).spread == Spread(10, 20, 30)


def test_ratio_pairs_values_of_the_same_round() -> None:
    """The machine was half as fast in the second round, for both, so the ratio is the same."""
    ratio = Ratio.between(figure("ours", 1000, 500, 900), figure("floor", 4000, 2000, 3000))
    assert ratio.values == (0.25, 0.25, 0.3)
    assert ratio.spread == Spread(0.25, 0.25, 0.3)


def test_ratio_refuses_figures_of_different_rounds() -> None:
    with pytest.raises(ValueError, match="zip"):
        Ratio.between(figure("ours", 1, 2), figure("floor", 1))


@pytest.mark.parametrize(
    ("bar", "value", "holds"),
    [
        (Bar(least=2.5), 2.5, True),
        (Bar(least=2.5), 2.49, False),
        (Bar(most=5), 5, True),
        (Bar(most=5), 5.1, False),
    ],
)
def test_bar_holds(bar: Bar, value: float, holds: bool) -> None:
    assert bar.holds(value) is holds


def test_spread_is_written_in_full_only_where_rounds_differ() -> None:
    assert Spread(1.001, 1.002, 1.004).write("{:.2f}".format) == "1.00"
    assert Spread(1, 2, 3).write("{:.0f}".format) == "2 (1..3)"


def test_saved_results_are_read_back(tmp_path: Path) -> None:
    ours, floor = figure("ours", 10, 20, 30), figure("floor", 20, 40, 40)
    saved = results(ours, floor, ratios=(Ratio.between(ours, floor, Bar(least=0.4)),))
    save(saved, tmp_path)
    assert load("sample", tmp_path) == saved


def test_saved_results_name_no_path_and_no_host(tmp_path: Path) -> None:
    written = save(results(figure("ours", 1)), tmp_path).read_text()
    assert str(Path.home()) not in written
    assert str(Path(__file__).parents[2]) not in written


def test_saved_figures_have_four_digits(tmp_path: Path) -> None:
    save(results(figure("ours", 12345.678, 1.23456)), tmp_path)
    assert load("sample", tmp_path).figures[0].values == (12350, 1.235)


def test_missing_figure_is_named() -> None:
    with pytest.raises(NoSuchFigureError, match="no throughput of theirs in the case '2 kB'"):
        results(figure("ours", 1)).figure("theirs", "2 kB", "throughput")
