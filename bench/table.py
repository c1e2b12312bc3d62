"""Markdown tables, and numbers as a reader wants them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table: the first column as text, the others to the right."""
    lines = [_line(head), f"|---|{'---:|' * (len(head) - 1)}", *map(_line, rows)]
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """Three significant digits, and separators in thousands: 17,500, 312, 4.12, 0.031."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    if abs(rounded) >= 100:
        return f"{rounded:,.0f}"
    whole = len(f"{int(abs(rounded))}") if abs(rounded) >= 1 else 0
    return f"{rounded:.{3 - whole}f}" if whole else f"{rounded:.3g}"


def ratio(value: float) -> str:
    """Two digits behind the point."""
    return f"{value:.2f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
