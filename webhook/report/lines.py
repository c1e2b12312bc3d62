"""Text for people: counts, colours, lines that fit the columns of a terminal, and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import TypeAlias

from webhook.policy.messages import printable


def counted(number: int, thing: str) -> str:
    """Return a number and what it counts."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


Paint: TypeAlias = Callable[[str, str], str]
"""Colours a text, or returns it unchanged. The second argument names the colour."""


def plain(text: str, colour: str) -> str:  # noqa: ARG001 - the signature of a Paint
    """Return the text without colour."""
    return text


NARROWEST = 20
"""Columns of a line at least, however narrow the terminal is, so that an indent leaves room for words."""


def wrapped(text: str, most: int | None, indent: str = "") -> list[str]:
    """Return the lines of a text, each of at most some characters if `most` is a number; words break where they must.

    Each line begins with the indent.
    """
    return [indent + text] if most is None else _wrapped(text, most, indent, indent)


def hanging(head: str, text: str, most: int | None, indent: str) -> list[str]:
    """Return the lines of a text after a head, which is never broken."""
    if most is None or not text:
        return [f"{head} {text}".rstrip(" ")]
    first, _, _ = text.partition(" ")
    if len(head) + 1 + len(first) > max(most, NARROWEST):
        return [head, *_wrapped(text, most, indent, indent)]
    return _wrapped(text, most, f"{head} ", indent)


def _wrapped(text: str, most: int, first: str, others: str) -> list[str]:
    columns = max(most, NARROWEST)
    return wrap(text, columns, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


_GAP = "  "
_NARROWEST_CELL = 8
"""Columns that remain of a text at least, where the table is too wide."""


def table(head: Sequence[str], rows: Sequence[Sequence[object]], most: int | None) -> Iterator[str]:
    """Yield the lines of a table. `most`: the columns of the terminal; None where nothing is cut.

    The widest columns are cut first. A table with too many columns for the terminal is wider than it.
    """
    texts = [[printable(one) for one in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    if most is not None:
        _narrow(widths, most - len(_GAP) * (len(widths) - 1))
    for row in texts:
        yield _GAP.join(cut_to(text, wide).ljust(wide) for text, wide in zip(row, widths, strict=True)).rstrip()


def cut_to(text: str, most: int) -> str:
    """Return a text of at most some characters, with an ellipsis where it is cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _narrow(widths: list[int], room: int) -> None:
    """Take columns from the widest texts until all fit, or none is wide any more."""
    while sum(widths) > room and max(widths) > _NARROWEST_CELL:
        widest = max(widths)
        second = max((one for one in widths if one < widest), default=_NARROWEST_CELL)
        having = [index for index, one in enumerate(widths) if one == widest]
        step = -(-(sum(widths) - room) // len(having))
        for index in having:
            widths[index] = max(widest - step, second, _NARROWEST_CELL) if second < widest else widest - 1
