"""A report as lines for people: each finding begins with its position, as in the output of a compiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from webhook.diagnostics import LINE
from webhook.policy.printable import printable
from webhook.policy.verdict import Severity
from webhook.report.model import SKIPPED, Report, Result
from webhook.report.paint import Paint, plain

_COLOURS = {Severity.DENY: "red", Severity.WARN: "yellow", Severity.AUDIT: "blue"}
_UNCHECKED = "GPS023"


def write(report: Report, paint: Paint = plain) -> str:
    """Return the findings with their remedies, then what is not checked, and a summary in one line."""
    lines = [line for result in report.results for line in _result(result, paint)]
    if lines:
        lines.append("")
    return "\n".join([*lines, *_not_checked(report), _summary(report)]) + "\n"


def _result(result: Result, paint: Paint) -> Iterator[str]:
    for located in result.findings:
        severity = located.finding.severity
        yield f"{located.at(result.file)}: {paint(severity.label, _COLOURS[severity])} {located}"
        yield paint(f"    {result.subject} at {printable(located.pointer or '/')}", "dim")
        yield printable(f"    remedy: {located.finding.remedy}", LINE)
    if result.reason and result.decision != SKIPPED:
        yield printable(f"{result.file}:{result.line}: {result.subject}: {result.reason}", LINE)
    for code, count in result.omitted.items():
        yield printable(f"{result.file}:{result.line}: and {_counted(count, 'more finding')} of {code}", LINE)


def _not_checked(report: Report) -> Iterator[str]:
    """How many objects are skipped for each reason, and how many name a GPU resource where nothing checks it."""
    reasons = Counter(result.reason for result in report.results if result.decision == SKIPPED and result.reason)
    for reason, count in reasons.most_common():
        yield printable(f"{_counted(count, 'object')} {reason}", LINE)
    unchecked = sum(any(one.finding.code == _UNCHECKED for one in result.findings) for result in report.results)
    if unchecked:
        yield f"{_counted(unchecked, 'object')} with a GPU resource that the webhook does not check ({_UNCHECKED})"


def _summary(report: Report) -> str:
    counts = report.summary()
    objects = counts.pop("objects")
    errors = counts.pop("errors")
    said = ", ".join(f"{count} {decision}" for decision, count in counts.items() if count) or "nothing to check"
    end = f"; {_counted(errors, 'input')} could not be read" if errors else ""
    return f"{_counted(objects, 'object')}: {said}{end}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
