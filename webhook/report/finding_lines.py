"""A finding as lines for people: position and message, the source line with carets, and the object."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.diagnostics import LINE
from webhook.policy.printable import printable
from webhook.policy.verdict import Severity
from webhook.report.columns import hanging, wrapped
from webhook.report.counted import counted
from webhook.report.excerpt import pointed
from webhook.report.model import Located, Result
from webhook.report.page import Page

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
    if source := pointed(located, page.width):
        yield page.paint(source.number, "dim") + source.source
        yield page.paint(source.space, "dim") + page.paint(source.carets, colour)
    about = f"{result.subject}{_origin(result)} at {located.pointer or '/'}"
    yield from (page.paint(line, "dim") for line in wrapped(printable(about, LINE), page.width, INDENT))


def further(result: Result) -> Iterator[str]:
    """Yield a text for each code with findings that are not listed."""
    for code, count in result.omitted.items():
        yield f"and {counted(count, 'more finding')} of {code}"


def _origin(result: Result) -> str:
    return f" from {printable(result.source)}" if result.source else ""
