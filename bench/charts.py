"""Charts of panels side by side: lines with whiskers, and bars with the goals drawn in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.results import Bar, Results, Spread
from bench.svg import Drawing, Point
from bench.table import number

_WIDTH = 860
_GAP = 24
_LEFT = 56
_TOP = 84
_PLOT = 230
_BOTTOM = 48
_ROW = 34
_MARGIN = 0.08
_MOST_TICKS = 9
_CHARACTER = 7.2
"""About the width of a letter at 12 pixels, in the widest of the fonts that a reader may have."""


Scale = Callable[[float], float]
"""From a value to its part of an axis, 0 to 1."""

Across = Callable[[Sequence[float]], Scale]
"""A scale for the x values of a panel."""

Up = Callable[[float, float], tuple[Scale, list[float]]]
"""A scale for the smallest and the largest of the y values of a panel, and its ticks."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its points, with spreads, and its style: the number of its colour, dashed or not."""

    colour: int
    points: Sequence[tuple[float, Spread]]
    dashed: bool = False


def lines(results: Results, cases: Mapping[int, str], quantity: str, *, dashed: bool = False) -> list[Line]:
    """A line for each subject: its `quantity` in the case that belongs to each x."""
    return [
        Line(colour, [(x, results.figure(subject, case, quantity).spread) for x, case in cases.items()], dashed)
        for colour, subject in enumerate(results.subjects)
    ]


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot: its title, the label of its x axis, its lines, and how values become places on either axis."""

    title: str
    x_label: str
    lines: Sequence[Line]
    across: Across
    up: Up


Legend = Sequence[tuple[int, str]]
"""The number of a colour, and what it stands for."""


def line_chart(title: str, y_label: str, legend: Legend, panels: Sequence[Panel], dashes: str = "") -> str:
    """Panels side by side, with one legend. `dashes` says what solid and dashed lines are."""
    drawing = Drawing(_WIDTH, _TOP + _PLOT + _BOTTOM, title)
    _head(drawing, title, f"{y_label}{dashes}", legend)
    width = (_WIDTH - _GAP) / len(panels)
    for index, panel in enumerate(panels):
        left = index * width + _LEFT
        _draw_lines(drawing, panel, left, width - _LEFT + 4)
    return drawing.write()


def _draw_lines(drawing: Drawing, panel: Panel, left: float, width: float) -> None:
    bottom = _TOP + _PLOT
    drawing.text((left, _TOP - 10), panel.title)
    xs = sorted({x for line in panel.lines for x, _ in line.points})
    highs = [spread.high for line in panel.lines for _, spread in line.points]
    lows = [spread.low for line in panel.lines for _, spread in line.points]
    up, ticks = panel.up(min(lows), max(highs))
    across = panel.across(xs)

    def place(x: float, y: float) -> Point:
        return left + across(x) * width, bottom - up(y) * _PLOT

    for tick in ticks:
        _, y = place(xs[0], tick)
        drawing.line((left, y), (left + width, y), "grid")
        drawing.text((left - 6, y + 4), _tick(tick), "small", "end")
    drawing.line((left, bottom), (left + width, bottom), "axis")
    last = -math.inf
    for x in xs:
        label = _tick(x)
        centre, half = left + across(x) * width, len(label) * _CHARACTER / 2
        if centre - half > last:  # a label that would touch its neighbour is left out
            drawing.text((centre, bottom + 16), label, "small", "middle")
            last = centre + half + 4
    drawing.text((left + width / 2, bottom + 34), panel.x_label, "small", "middle")
    for line in panel.lines:
        for x, spread in line.points:
            drawing.line(place(x, spread.high), place(x, spread.low), f"whisker s{line.colour}")
        points = [place(x, spread.middle) for x, spread in line.points]
        drawing.path(points, f"line s{line.colour}{' dashed' if line.dashed else ''}")
        for point in points:
            drawing.dot(point, f"f{line.colour}")


@dataclass(frozen=True, slots=True)
class Row:
    """One bar: its label, its spread, its colour, and the goal, if there is one."""

    label: str
    spread: Spread
    bar: Bar | None = None
    colour: int = 0


def bar_chart(title: str, note: str, panels: Sequence[tuple[str, Sequence[Row]]]) -> str:
    """Horizontal bars in panels with scales of their own; each has its value beside it and its goal as a mark."""
    rows = max(len(rows) for _, rows in panels)
    drawing = Drawing(_WIDTH, _TOP + rows * _ROW + 16, title)
    _head(drawing, title, note, ())
    width = (_WIDTH - _GAP) / len(panels)
    for index, (name, bars) in enumerate(panels):
        labels = max(len(row.label) for row in bars) * _CHARACTER + 12
        left = index * width + _GAP
        _draw_bars(drawing, name, bars, left, labels, width - _GAP)
    return drawing.write()


def _draw_bars(drawing: Drawing, name: str, bars: Sequence[Row], left: float, labels: float, width: float) -> None:
    drawing.text((left, _TOP - 14), name)
    start = left + labels
    values = 96.0
    most = max(max(row.spread.high, _goal(row) or 0) for row in bars)
    scale = (width - labels - values) / most
    for index, row in enumerate(bars):
        y = _TOP + index * _ROW + _ROW / 2
        drawing.text((start - 8, y + 4), row.label, "", "end")
        drawing.box((start, y - 8), row.spread.middle * scale, 16, f"f{row.colour}")
        drawing.line((start + row.spread.low * scale, y), (start + row.spread.high * scale, y), "whisker ink")
        end = max(row.spread.high, _goal(row) or 0) * scale
        goal = _goal(row)
        if goal is not None:
            drawing.line((start + goal * scale, y - 13), (start + goal * scale, y + 13), "bar-mark")
        said = f"{row.spread.middle:.2f}" + ("" if row.bar is None else f"  (goal {row.bar})")
        drawing.text((start + end + 8, y + 4), said, "small")
    drawing.line((start, _TOP), (start, _TOP + len(bars) * _ROW), "axis")


def _goal(row: Row) -> float | None:
    if row.bar is None:
        return None
    return row.bar.least if row.bar.least is not None else row.bar.most


def _head(drawing: Drawing, title: str, note: str, legend: Legend) -> None:
    drawing.text((_GAP, 24), title, "title")
    drawing.text((_GAP, 44), note, "small")
    x = _WIDTH - _GAP - sum(len(name) * _CHARACTER + 40 for _, name in legend)
    for colour, name in legend:
        drawing.line((x, 20), (x + 18, 20), f"line s{colour}")
        drawing.dot((x + 9, 20), f"f{colour}")
        drawing.text((x + 23, 24), name)
        x += len(name) * _CHARACTER + 40


def linear(_: float, most: float) -> tuple[Scale, list[float]]:
    """From 0 to a round number above the largest value, with about four ticks."""
    step = _round_step(most / 4)
    top = math.ceil(most / step) * step
    return (lambda value: value / top), [step * index for index in range(round(top / step) + 1)]


def logarithmic(least: float, most: float) -> tuple[Scale, list[float]]:
    """Ticks at 1, 2 and 5 times the powers of ten, or at the powers only where that makes too many."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    ticks = [part * 10.0**power for power in powers for part in (1, 2, 5)]
    bottom = max(tick for tick in ticks if tick <= least)
    top = min(tick for tick in ticks if tick >= most and tick > bottom)
    ticks = [tick for tick in ticks if bottom <= tick <= top]
    if len(ticks) > _MOST_TICKS:
        ticks = [tick for tick in ticks if f"{tick:e}".startswith("1")]
    span = math.log10(top / bottom)
    return (lambda value: math.log10(value / bottom) / span), ticks


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * part for part in (1, 2, 2.5, 5, 10) if power * part >= least)


def even(xs: Sequence[float]) -> Scale:
    """Values at equal distances."""
    return {x: (index + 0.5) / len(xs) for index, x in enumerate(xs)}.__getitem__


def scaled(xs: Sequence[float]) -> Scale:
    """Values at their true distances, with a margin on either side."""
    span = (xs[-1] - xs[0]) or 1
    return lambda x: _MARGIN + (1 - 2 * _MARGIN) * (x - xs[0]) / span


def _tick(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else number(value)
