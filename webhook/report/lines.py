"""Text for people: counts, colours, lines that fit the columns of a terminal, and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias
from unicodedata import combining, east_asian_width

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


def columns(text: str) -> int:
    """Return the columns that printable text takes."""
    return len(text) if text.isascii() else sum(map(width, text))


def width(character: str) -> int:
    """Return the columns of a character: 0 for a mark on the one before it, 2 for one of a wide script, otherwise 1."""
    if "\u1160" <= character <= "\u11ff" or "\ufe00" <= character <= "\ufe0f" or combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def wrapped(text: str, most: int | None, indent: str = "", taken: int = 0) -> Iterator[str]:
    """Yield the lines of a text, each of at most some columns if `most` is a number; words break where they must.

    Each line begins with the indent. The first begins after `taken` columns instead, which the caller prints before it;
    it is empty if no word fits there.
    """
    if most is None:
        yield text if taken else indent + text
        return
    most = max(most, NARROWEST)
    line, room = ("", most - taken) if taken else (indent, most - columns(indent))
    has_words = False
    for word in text.split(" "):
        wide = columns(word)
        if has_words and wide < room:
            line, room = f"{line} {word}", room - wide - 1
            continue
        if has_words or (taken and wide > room):
            yield line
            line, room = indent, most - columns(indent)
        taken = 0
        for character in word:
            if width(character) > room:
                yield line
                line, room = indent, most - columns(indent)
            line, room = line + character, room - width(character)
        has_words = True
    yield line


def hanging(head: str, text: str, most: int | None, indent: str) -> Iterator[str]:
    """Yield the lines of a text after a head, which is never broken."""
    first, *more = wrapped(text, most, indent, columns(head) + 1)
    yield f"{head} {first}".rstrip(" ")
    yield from more


_GAP = "  "
_NARROWEST_CELL = 8
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
        cells = ((cut_to(text, wide), wide) for text, wide in zip(row, widths, strict=True))
        yield _GAP.join(cell + " " * (wide - columns(cell)) for cell, wide in cells).rstrip()


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
    while sum(widths) > room and max(widths) > _NARROWEST_CELL:
        widest = max(widths)
        second = max((one for one in widths if one < widest), default=_NARROWEST_CELL)
        having = [index for index, one in enumerate(widths) if one == widest]
        step = -(-(sum(widths) - room) // len(having))
        for index in having:
            widths[index] = max(widest - step, second, _NARROWEST_CELL) if second < widest else widest - 1
