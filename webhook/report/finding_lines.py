"""A finding as lines for people: position and message, the source line with carets, and the object."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from webhook.diagnostics import LINE
from webhook.policy.messages import COMMAND_ANYWHERE, printable
from webhook.policy.verdict import Severity
from webhook.report.lines import NARROWEST, columns, counted, hanging, wrapped
from webhook.report.model import Located, Result
from webhook.report.writer import Page

INDENT = "    "

_COLOURS = {Severity.DENY: "red", Severity.WARN: "yellow", Severity.AUDIT: "blue"}


def finding_lines(result: Result, located: Located, page: Page) -> Iterator[str]:
    """Yield the lines of a finding. Only the position, which programs parse, may be wider than the page."""
    severity = located.finding.severity
    place, label, colour = located.at(result.file), severity.label, _COLOURS[severity]
    head = f"{place}: {label}"
    first, *more = hanging(head, str(located), page.width, INDENT)
    yield f"{page.paint(place, 'bold')}: {page.paint(label, colour)}{first.removeprefix(head)}"
    yield from more
    yield from _pointed(located, page, colour)
    origin = f" from {printable(result.source)}" if result.source else ""
    about = f"{result.subject}{origin} at {located.pointer or '/'}"
    yield from (page.paint(line, "dim") for line in wrapped(printable(about, LINE), page.width, INDENT))


def further(result: Result) -> Iterator[str]:
    """Yield a text for each code with findings that are not listed."""
    for code, count in result.omitted.items():
        yield f"and {counted(count, 'more finding')} of {code}"


_WIDEST = 160
"""Columns of a source line where the output is not wrapped."""

_TAB = "    "
_ELLIPSIS = "…"


def _pointed(located: Located, page: Page, colour: str) -> Iterator[str]:
    """Yield the source line of a finding and carets under the value; nothing if the line is unknown.

    Of a line that does not fit, the part around the value is shown. A character that is not printable becomes `?`, and
    a tab becomes spaces.
    """
    text = located.excerpt.text.rstrip("\r")
    if not text:
        return
    shown = [_TAB if one == "\t" else one if one.isprintable() else "?" for one in COMMAND_ANYWHERE.sub("#?", text)]
    at = min(max(0, located.column - located.excerpt.column), len(shown))
    number = f"{located.line:>4} | "
    room = max(_WIDEST if page.width is None else page.width, NARROWEST) - len(number)
    start, end = _window([columns(one) for one in shown], at, room, is_whole=located.excerpt.column == 1)
    before = _ELLIPSIS if start or located.excerpt.column > 1 else ""
    after = _ELLIPSIS if end < len(shown) else ""
    left = columns(before) + sum(map(columns, shown[start:at]))
    under = "".join(shown[at : min(end, at + max(located.length, 1))])
    yield f"{page.paint(number, 'dim')}{before}{''.join(shown[start:end])}{after}"
    space = f"{'| ':>{len(number)}}{' ' * left}"
    yield page.paint(space, "dim") + page.paint("^" * max(1, columns(under)), colour)


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
