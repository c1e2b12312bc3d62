"""A report as lines for people: each finding begins with its position, as in the output of a compiler."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.diagnostics import LINE
from webhook.policy.printable import printable
from webhook.policy.verdict import Severity
from webhook.report.baseline import BaselineUse
from webhook.report.model import SKIPPED, Entry, Result, Suppressor
from webhook.report.paint import Paint, plain
from webhook.report.tally import Tally

_COLOURS = {Severity.DENY: "red", Severity.WARN: "yellow", Severity.AUDIT: "blue"}

_WHERE = {
    Suppressor.ANNOTATION: "annotations of pods, here and in the cluster",
    Suppressor.COMMENT: "comments; the cluster still reports them",
}


class TextWriter:
    """Writes the findings with their remedies, then what is not checked, and a summary in one line."""

    def __init__(self, paint: Paint = plain) -> None:
        self._paint = paint
        self._has_lines = False

    def add(self, entry: Entry) -> str:
        """Return the lines for a result. Errors are printed on standard error."""
        if not isinstance(entry, Result):
            return ""
        text = "".join(f"{line}\n" for line in _result(entry, self._paint))
        self._has_lines |= bool(text)
        return text

    def end(self, tally: Tally) -> str:
        """Return what is not checked, and the summary."""
        blank = [""] if self._has_lines else []
        return "".join(f"{line}\n" for line in [*blank, *_not_checked(tally), _summary(tally)])


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
    yield from map(str, result.notes)


def _not_checked(tally: Tally) -> Iterator[str]:
    """How many objects and files are skipped for each reason, and how many objects name a GPU that nothing checks."""
    for reason, count in tally.unread.most_common():
        yield printable(f"{_counted(count, 'file')} not read: {reason}", LINE)
    for reason, count in tally.skipped.most_common():
        yield printable(f"{_counted(count, 'object')} {reason}", LINE)
    if tally.unchecked:
        yield f"{_counted(tally.unchecked, 'object')} with a GPU resource that the webhook does not check (GPS023)"
    for suppressor, where in _WHERE.items():
        if count := tally.suppressed_by(suppressor):
            yield f"{_counted(count, 'finding')} suppressed by {where}"
    if tally.baseline is not None:
        yield from _of_baseline(tally.baseline, tally.suppressed_by(Suppressor.BASELINE))
    if tally.selection.options:
        yield str(tally.selection)


def _of_baseline(baseline: BaselineUse, suppressed: int) -> Iterator[str]:
    file = printable(baseline.file)
    if suppressed or baseline.is_written:
        what = "written to" if baseline.is_written else "suppressed by"
        yield f"{_counted(suppressed, 'finding')} {what} {file}; the cluster still reports them"
    if stale := baseline.stale:
        entries = "1 entry" if len(stale) == 1 else f"{len(stale)} entries"
        yield f"{entries} of {file} no longer occur{'s' if len(stale) == 1 else ''}; write the baseline again:"
        for one in stale[:_MOST_STALE]:
            yield printable(f"    {one}", LINE)
        if len(stale) > _MOST_STALE:
            yield f"    and {len(stale) - _MOST_STALE} more"


_MOST_STALE = 10


def _summary(tally: Tally) -> str:
    said = ", ".join(f"{count} {decision}" for decision, count in tally.decisions.items() if count)
    end = f"; {_counted(tally.errors, 'input')} could not be read" if tally.errors else ""
    settings = printable(f" (settings: {tally.settings})", LINE) if tally.settings else ""
    return f"{_counted(tally.objects, 'object')}: {said or 'nothing to check'}{end}{settings}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
