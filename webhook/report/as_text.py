"""A report as lines for people: one finding a line, place first, as compilers do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from webhook.diagnostics import LINE
from webhook.policy.printable import printable
from webhook.policy.verdict import Severity
from webhook.report.model import Report, Result

Paint = Callable[[str, str], str]
"""Puts a colour on a text, or leaves it as it is."""

_COLOURS = {Severity.DENY: "red", Severity.WARN: "yellow", Severity.AUDIT: "blue"}


def plain(text: str, colour: str) -> str:  # noqa: ARG001 - the shape of a Paint
    """No colour."""
    return text


def write(report: Report, paint: Paint = plain) -> str:
    """Findings with their remedies, then one line that sums up."""
    lines = [line for result in report.results for line in _result(result, paint)]
    if lines:
        lines.append("")
    return "\n".join([*lines, _summary(report)]) + "\n"


def _result(result: Result, paint: Paint) -> Iterator[str]:
    for located in result.findings:
        severity = located.finding.severity
        yield f"{located.at(result.file)}: {paint(severity.label, _COLOURS[severity])} {located}"
        yield paint(f"    {result.subject} at {printable(located.pointer or '/')}", "dim")
        yield printable(f"    remedy: {located.finding.remedy}", LINE)
    for code, count in result.omitted.items():
        yield f"{printable(result.file)}:{result.line}: and {_counted(count, 'more finding')} of {code}"


def _summary(report: Report) -> str:
    counts = report.summary()
    objects = counts.pop("objects")
    errors = counts.pop("errors")
    said = ", ".join(f"{count} {decision}" for decision, count in counts.items() if count) or "nothing to check"
    end = f"; {_counted(errors, 'input')} could not be read" if errors else ""
    return f"{_counted(objects, 'object')}: {said}{end}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
