"""The source line of a finding, with carets under the value."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from webhook.policy.printable import COMMAND_ANYWHERE
from webhook.report.columns import NARROWEST, columns
from webhook.report.model import Located

_WIDEST = 160
"""Columns of a source line where the output is not wrapped."""

_TAB = "    "
_ELLIPSIS = "…"


class Pointed(NamedTuple):
    """A source line after its number, and the carets for the line below, after the space that aligns them."""

    number: str
    source: str
    space: str
    carets: str


def pointed(located: Located, most: int | None) -> Pointed | None:
    """Return the source line of a finding and carets under the value; None if the line is unknown.

    Of a line that does not fit, the part around the value is shown. A character that is not printable becomes `?`, and
    a tab becomes spaces.
    """
    text = located.excerpt.text.rstrip("\r")
    if not text:
        return None
    shown = [_shown(character) for character in COMMAND_ANYWHERE.sub("#?", text)]
    at = min(max(0, located.column - located.excerpt.column), len(shown))
    number = f"{located.line:>4} | "
    room = max(_WIDEST if most is None else most, NARROWEST) - len(number)
    start, end = _window([columns(one) for one in shown], at, room, is_whole=located.excerpt.column == 1)
    before = _ELLIPSIS if start or located.excerpt.column > 1 else ""
    after = _ELLIPSIS if end < len(shown) else ""
    left = columns(before) + sum(map(columns, shown[start:at]))
    under = "".join(shown[at : min(end, at + max(located.length, 1))])
    return Pointed(
        number,
        f"{before}{''.join(shown[start:end])}{after}",
        f"{'| ':>{len(number)}}{' ' * left}",
        "^" * max(1, columns(under)),
    )


def _shown(character: str) -> str:
    if character == "\t":
        return _TAB
    return character if character.isprintable() else "?"


def _window(widths: list[int], at: int, room: int, *, is_whole: bool) -> tuple[int, int]:
    """Return the range of the characters that fit: all of them, or a third of the room before the value."""
    if is_whole and sum(widths) + (at == len(widths)) <= room:
        return 0, len(widths)
    room -= 2 * len(_ELLIPSIS)
    behind = min(sum(widths[at:]) + 1, room - room // 3)
    before = accumulate(reversed(widths[:at]))
    start = at - sum(used <= room - behind for used in before)
    after = accumulate(widths[at:], initial=sum(widths[start:at]))
    return start, at + sum(used <= room for used in after) - 1
