"""Tables for a terminal: columns as wide as their texts, cut where the terminal is narrower."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.policy.messages import printable
from webhook.report.lines import columns, width

_GAP = "  "
_NARROWEST = 8
"""Columns that remain of a text at least, where the table is too wide."""


def table(head: Sequence[str], rows: Sequence[Sequence[object]], most: int | None) -> Iterator[str]:
    """Yield the lines of a table. `most`: the columns of the terminal; None where nothing is cut.

    The widest columns are cut first. A table with too many columns for the terminal is wider than it.
    """
    texts = [[printable(one) for one in row] for row in (head, *rows)]
    widths = [max(map(columns, column)) for column in zip(*texts, strict=True)]
    if most is not None:
        _narrow(widths, most - len(_GAP) * (len(widths) - 1))
    for row in texts:
        cells = (_padded(cut_to(one, wide), wide) for one, wide in zip(row, widths, strict=True))
        yield _GAP.join(cells).rstrip()


def cut_to(text: str, most: int) -> str:
    """Return a text of at most some columns, with an ellipsis where it is cut."""
    if columns(text) <= most:
        return text
    kept, room = [], most - 1
    for character in text:
        room -= width(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + "…"


def _narrow(widths: list[int], room: int) -> None:
    """Take columns from the widest texts until all fit, or none is wide any more."""
    while sum(widths) > room and max(widths) > _NARROWEST:
        widest = max(widths)
        second = max((one for one in widths if one < widest), default=_NARROWEST)
        having = [index for index, one in enumerate(widths) if one == widest]
        step = -(-(sum(widths) - room) // len(having))
        for index in having:
            widths[index] = max(widest - step, second, _NARROWEST) if second < widest else widest - 1


def _padded(text: str, wide: int) -> str:
    return text + " " * (wide - columns(text))
