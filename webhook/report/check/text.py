"""A report as lines for people: each finding begins with its position, as in the output of a compiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from webhook.diagnostics import LINE, Unread
from webhook.policy.messages import COMMAND_ANYWHERE, printable
from webhook.policy.verdict import Finding, Severity
from webhook.report.lines import NARROWEST, columns, counted, hanging, wrapped
from webhook.report.model import SKIPPED, Entry, LocatedFinding, Result, Suppressor
from webhook.report.tally import Tally, assumption, further, is_of_another_kind, summary
from webhook.report.writer import Page

_INDENT = "    "

_COLOURS = {Severity.DENY: "red", Severity.WARN: "yellow", Severity.AUDIT: "blue"}

_REASONS = 20
"""Reasons that are listed. Some name a field of the object, so that each object could have another one."""

_COMMANDS = 5
"""Commands that are listed for what is not read, for GPUs first; the summary counts the rest."""


class TextWriter:
    """Writes the findings; at the end the remedies, a tally by code, what is not checked, and a summary in one line."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._has_lines = False
        self._remedies = Remedies()
        self._reasons: Counter[str] = Counter()
        self._omitted = 0
        self._commands: tuple[list[str], list[str]] = [], []
        self._whys: list[str] = []

    def add(self, entry: Entry) -> str:
        """Return the lines for the findings of a result. Errors are printed on standard error."""
        if isinstance(entry, Unread):
            commands = self._commands[not entry.names_gpu]
            if entry.instead and len(commands) < _COMMANDS:
                commands.append(entry.instead)
            if entry.why and len(self._whys) < _COMMANDS:
                self._whys.append(entry.why)
            return self._written(_unread(entry, self._page))
        if not isinstance(entry, Result):
            return ""
        entry = entry.told
        if not (entry.findings or entry.omitted or entry.reason or entry.notes):
            return ""
        self._omitted += sum(entry.omitted.values())
        if not entry.findings and entry.reason and entry.decision != SKIPPED:
            is_listed = entry.reason in self._reasons or len(self._reasons) < _REASONS
            self._reasons[entry.reason if is_listed else "with other notes"] += 1
        for located in entry.findings:
            self._remedies.add(located)
        return self._written(_result(entry, self._page))

    def end(self, tally: Tally) -> str:
        return _joined(self._end(tally))

    def _written(self, lines: Iterable[str]) -> str:
        text = _joined(lines)
        self._has_lines |= bool(text)
        return text

    def _end(self, tally: Tally) -> Iterator[str]:
        if self._has_lines:
            yield ""
        if remedies := list(self._remedies.listed()):
            yield from wrapped("Remedies (gpushare-webhook explain CODE tells more):", self._page.width)
            for code, remedy in remedies:
                yield from _hanging(f"  {code}", remedy, self._page)
            yield ""
        if commands := [*self._commands[0], *self._commands[1]][:_COMMANDS]:
            yield "To check what is not read:"
            yield from (f"  {printable(command, LINE)}" for command in commands)
            yield ""
        if self._whys:
            yield "Why kustomizations are not built:"
            yield from (f"  {printable(why, LINE)}" for why in self._whys)
            yield ""
        settings = f" (settings: {tally.settings})" if tally.settings else ""
        for line in (*_notes(tally, self._omitted, self._reasons), f"{summary(tally)}{settings}", assumption(tally)):
            first, _, rest = line.partition(" ")
            yield from _hanging(first, rest, self._page) if line else ()


class QuietWriter:
    """Writes the findings with which the run fails, and nothing else."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def add(self, entry: Entry) -> str:
        """Return the lines for the failing findings of a result, or for what is not checked and so fails the run."""
        if isinstance(entry, Unread):
            return _joined(_unread(entry, self._page))
        if not isinstance(entry, Result):
            return ""
        entry = entry.told
        fail_on = self._page.fail_on
        if entry.decision == SKIPPED and self._fails(entry):
            return _joined(_about(entry, entry.reason, self._page))
        failing = [located for located in entry.findings if fail_on.shows(located.severity)]
        if failing or not self._fails(entry):
            return _joined(line for located in _by_place(failing) for line in _finding(entry, located, self._page))
        return _joined(line for text in further(entry) for line in _about(entry, text, self._page))

    def _fails(self, result: Result) -> bool:
        return result.decision in ("denied", *self._page.fail_on.failing)

    def end(self, tally: Tally) -> str:  # noqa: ARG002 - the signature of a Writer
        return ""


def _hanging(head: str, text: object, page: Page) -> Iterator[str]:
    """Yield the lines of a text after a head that is never broken. Both are sanitised."""
    return hanging(printable(head, LINE), printable(text, LINE), page.width, _INDENT)


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _unread(entry: Unread, page: Page) -> Iterator[str]:
    """Return the lines for a file or folder that fails the run; the summary counts the others."""
    if entry.may_hide and page.fail_on.counts_unread:
        yield from _hanging(f"{entry.file}:", f"not read: {entry.reason}", page)


def _by_place(findings: Iterable[LocatedFinding]) -> list[LocatedFinding]:
    """Return findings in the order of the file, as compilers report them; those of one place stay in that of codes.

    Those about a mapping or list with lines of its own are reported at its key.
    """
    return sorted(map(_at_key, findings), key=lambda located: (located.file, located.line, located.column))


def _at_key(located: LocatedFinding) -> LocatedFinding:
    if located.key is None:
        return located
    (line, column), excerpt = located.key
    return replace(located, line=line, column=column, excerpt=excerpt)


def _result(result: Result, page: Page) -> Iterator[str]:
    for located in _by_place(result.findings):
        yield from _finding(result, located, page)
    if result.reason and result.findings and not is_of_another_kind(result):
        yield from _about(result, result.reason, page)
    for text in further(result):
        yield from _about(result, text, page)
    for note in result.notes:
        yield from _hanging(f"{note.file}:{note.line}:{note.column}:", note.message, page)


def _finding(result: Result, located: LocatedFinding, page: Page) -> Iterator[str]:
    """Yield the lines of a finding. Only the position, which programs parse, may be wider than the page."""
    severity = located.severity
    place, label, colour = located.at(result.file), severity.label, _COLOURS[severity]
    head = f"{place}: {label}"
    first, *more = hanging(head, str(located), page.width, _INDENT)
    yield f"{page.paint(place, 'bold')}: {page.paint(label, colour)}{first.removeprefix(head)}"
    yield from more
    yield from _pointed(located, page, colour)
    origin = f" from {printable(result.source)}" if result.source else ""
    about = f"{result.subject}{origin} at {located.pointer or '/'}"
    yield from (page.paint(line, "dim") for line in wrapped(printable(about, LINE), page.width, _INDENT))


_WIDEST = 160
"""Columns of a source line where the output is not wrapped."""

_TAB = "    "
_ELLIPSIS = "…"


def _pointed(located: LocatedFinding, page: Page, colour: str) -> Iterator[str]:
    """Yield the source line of a finding and carets under the value, if it is one; nothing if the line is unknown.

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
    if located.key is not None:
        return  # a mark would point at the key, which is right
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


def _about(result: Result, text: str, page: Page) -> Iterator[str]:
    return _hanging(f"{result.file}:{result.line}:", f"{result.subject}: {text}", page)


def _notes(tally: Tally, omitted: int, reasons: Counter[str]) -> Iterator[str]:
    """Yield the numbers of findings, of files and objects that are not checked, and of findings that are left out."""
    if tally.codes.total() + omitted > 1:
        counts = [f"{code} {severity} {count}" for (code, severity), count in sorted(tally.codes.items())]
        yield ", ".join(counts + ([f"{omitted} not listed"] if omitted else []))
    yield from tally.unread.lines()
    for reason, count in (tally.skipped + reasons).most_common():
        yield f"{counted(count, 'object')} {reason}"
    if tally.unchecked:
        yield f"{counted(tally.unchecked, 'object')} with a GPU resource that is not checked here (GPS023)"
    for by, what in ((Suppressor.COMMENT, "comments"), (Suppressor.BASELINE, "the baseline")):
        if count := tally.suppressed[by]:
            yield f"{counted(count, 'finding')} suppressed by {what}, which the cluster does not read"
    if tally.selection.options:
        yield str(tally.selection)
    yield from tally.evidence.lines()


_KEPT = 3
"""Remedies of one code that are listed. A cluster with known nodes may have another one for each pod."""


class Remedies:
    """Collects the first remedies of each code, and counts the findings with others."""

    def __init__(self) -> None:
        self._kept: dict[str, list[str]] = {}
        self._others: Counter[str] = Counter()

    def add(self, finding: Finding) -> None:
        kept = self._kept.setdefault(finding.code, [])
        if finding.remedy in kept:
            return
        if len(kept) < _KEPT:
            kept.append(finding.remedy)
        else:
            self._others[finding.code] += 1

    def listed(self) -> Iterator[tuple[str, str]]:
        for code in sorted(self._kept):
            for remedy in self._kept[code]:
                yield code, remedy
            if others := self._others[code]:
                yield code, f"({others} more {'finding has' if others == 1 else 'findings have'} other remedies)"
