"""`check`: a verdict for every object."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from webhook.cli.evaluator import SettingsSource, chosen, prepared, source_options
from webhook.cli.options import (
    ManifestCommand,
    Output,
    file_option,
    manifest_options,
    outputs_option,
    read_standard_input_once,
    single_option,
)
from webhook.cli.outputs import STDOUT, Write, destinations
from webhook.cli.screen import draw, notify, paint, show, tell, width
from webhook.cli.selection import selection_options
from webhook.diagnostics import Diagnostic
from webhook.dryrun.check import results
from webhook.dryrun.evidence.first_pass import first_pass
from webhook.dryrun.files import up_to_root
from webhook.dryrun.inputs import Inputs, found
from webhook.manifests import in_sections, is_pipe
from webhook.report.check import CheckFormat
from webhook.report.lines import counted
from webhook.report.model import Entry, Result, Selection
from webhook.report.tally import ABOUT_SHARING, FailOn, Tally
from webhook.report.writer import Page, SourceTree, Writer

if TYPE_CHECKING:
    from webhook.dryrun.baseline import ReadBaseline, WrittenBaseline

_MOST_JOBS = 256

Check: TypeAlias = Callable[[], AbstractContextManager[Iterator[Entry]]]
"""Checks the inputs as they are now."""


def _jobs(_context: click.Context, _option: click.Parameter, value: int) -> int:
    """Return the number of processes; for 0, the cores that it may use. Raises BadParameter if there is no fork."""
    if value != 1 and not hasattr(os, "fork"):
        raise click.BadParameter("worker processes need a system that can fork; leave out -j")
    if value:
        return value
    affinity = getattr(os, "sched_getaffinity", None)  # Linux
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


@click.command(name="check", cls=ManifestCommand)
@manifest_options
@source_options
@selection_options
@file_option("--baseline", help="Leave out the findings that a baseline holds.")
@file_option(
    "--write-baseline", help="Write all findings to a baseline, and report none. Not written if there are errors."
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(0, _MOST_JOBS),
    metavar="N",
    default=1,
    show_default=True,
    callback=_jobs,
    help="Check in N processes; 0 stands for the number of cores. The report is the same.",
)
@click.option(
    "--no-facts-from-inputs",
    is_flag=True,
    help="Read no facts about the cluster from the manifests, for a change that you do not trust.",
)
@outputs_option(CheckFormat.TEXT, "The format of the report.")
@single_option(
    "--fail-on",
    type=click.Choice([one.value for one in FailOn]),
    default=FailOn.DENY.value,
    show_default=True,
    callback=lambda _context, _option, value: FailOn(value),
    help="Exit with 1 if an object is denied (deny), or also warned (warn), or a file or folder is hidden from the "
    "check (unread), or also an object skipped (skipped); or never. Errors always exit with 2.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="Apply the fixes of findings to the files, and report what is left.",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Print only the findings that deny an object or fail the run, and no summary, in the text report.",
)
def command(
    inputs: Inputs,
    source: SettingsSource,
    selection: Selection,
    baseline: str | None,
    write_baseline: str | None,
    jobs: int,
    no_facts_from_inputs: bool,
    outputs: tuple[Output[CheckFormat], ...],
    fail_on: FailOn,
    fix: bool,
    quiet: bool,
) -> None:
    """Check manifests as the webhook in the cluster would, with file and line.

    \b
    Examples:
      gpushare-webhook check pod.yaml
      kubectl kustomize overlays/production | gpushare-webhook check - -o json
      gpushare-webhook check manifests/ --config settings.yaml --fail-on warn
      gpushare-webhook check manifests/ --fix
    """
    _require_compatible(inputs, baseline, write_baseline, is_fixing=fix)
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts, baseline=baseline)
    accepted = _opened(baseline, write_baseline)
    settings, given = chosen(source, selection), partial(found, inputs, in_sections)
    first = None if no_facts_from_inputs or settings.has_facts else first_pass(given(_ignore if fix else notify))
    evaluator, names_sharing, evidence = prepared(settings, first, inputs.namespace)
    check = partial(results, inputs, evaluator, selection, jobs)
    left = frozenset[str]() if names_sharing else ABOUT_SHARING
    problems = _fixing(lambda: check(given(_ignore)), baseline, left, is_quiet=quiet) if fix else []
    tally = Tally(settings.file, selection, assumes_sharing=not names_sharing, evidence=evidence)
    rest = given(notify) if fix or first is None else first.given()
    with check(rest) as checked, _reports(outputs, fail_on, quiet) as written:
        _report(chain(problems, checked if accepted is None else map(accepted.suppress, checked)), tally, written)
        if accepted is not None:
            accepted.end(tally)
        written.end(tally)
    sys.exit(tally.exit_code(fail_on))


def _report(entries: Iterable[Entry], tally: Tally, written: Reports) -> None:
    """Count entries, and write them into the reports. Raises InputError if one cannot be written."""
    for entry in entries:
        tally.add(entry)
        written.add(entry)


def _require_compatible(inputs: Inputs, baseline: str | None, write_baseline: str | None, *, is_fixing: bool) -> None:
    """Check that the options of fixes and baselines do not contradict each other. Raises UsageError."""
    if is_fixing:
        from webhook.cli.in_place import require_files  # most runs change no file

        require_files("--fix", inputs.names)
        if baseline is not None and (baseline == "-" or is_pipe(baseline)):
            raise click.UsageError("--fix reads the baseline several times; name a file, not standard input or a pipe")
        if write_baseline is not None:
            raise click.UsageError("--write-baseline accepts the findings that --fix fixes; leave out one of them")
    if baseline is not None and write_baseline is not None:
        raise click.UsageError("--write-baseline writes all findings; leave out --baseline")


def _ignore(_notice: Diagnostic) -> None:
    """Drop a notice that a later pass over the inputs gives."""


def _fixing(check: Check, baseline: str | None, left: Set[str], *, is_quiet: bool) -> list[Diagnostic]:
    """Apply the fixes of findings, but of those with the codes `left`, to the files; return the errors."""
    from webhook.cli.fixing import Fixing  # most runs change no file

    @contextmanager
    def found() -> Iterator[Iterator[Entry]]:
        accepted = _opened(baseline, None)
        with check() as checked:
            yield checked if accepted is None else map(accepted.suppress, checked)

    return Fixing(left, is_quiet=is_quiet).run(found)


def _opened(read: str | None, write: str | None) -> ReadBaseline | WrittenBaseline | None:
    """Return the baseline to read or to write, if any. Raises InputError if it cannot be read."""
    if write is not None:
        from webhook.dryrun.baseline import WrittenBaseline  # most runs have no baseline

        return WrittenBaseline(write, partial(_write, write), tell)
    if read is not None:
        from webhook.dryrun.baseline import ReadBaseline  # as above

        return ReadBaseline(read)
    return None


def _write(file: str, text: str) -> None:
    """Write a file as a whole. Raises InputError."""
    with destinations([file]) as (write,):
        write(text)


class Reports:
    """The reports of a run, which get the same entries. Errors also appear on standard error."""

    __slots__ = ("_parts", "_progress")

    def __init__(self, parts: Sequence[tuple[Writer, Write]], shown: Progress) -> None:
        self._parts = parts
        self._progress = shown

    def add(self, entry: Entry) -> None:
        """Write an entry into each report. Raises InputError if one cannot be written."""
        self._progress.count(entry)
        if isinstance(entry, Diagnostic):
            self._progress.end()
            tell(str(entry))
        for writer, write in self._parts:
            if text := writer.add(entry):
                write(text)

    def end(self, tally: Tally) -> None:
        """Write the end of each report. Raises InputError if one cannot be written."""
        self._progress.end()
        for writer, write in self._parts:
            if text := writer.end(tally):
                write(text)


@contextmanager
def _reports(outputs: Sequence[Output[CheckFormat]], fail_on: FailOn, is_quiet: bool) -> Iterator[Reports]:
    """Yield the reports. At the end, those that are data are put into place. Raises InputError.

    A report for people on standard output appears line by line, and its lines fit the terminal.
    """
    shown = Progress()

    def show_live(text: str) -> None:
        shown.end()
        show(text)

    here = Path.cwd()
    tree = SourceTree(str(up_to_root(here)[-1]), str(here))
    page = partial(Page, fail_on=fail_on, is_quiet=is_quiet, tree=tree)
    screen = page(paint=paint(sys.stdout), width=width() if sys.stdout.isatty() else None)
    file = page()
    live = [one for one in outputs if one.file == STDOUT and one.format.is_for_people]
    data = [one for one in outputs if one not in live]
    with destinations([one.file for one in data]) as writes:
        parts: list[tuple[Writer, Write]] = [(one.format.writer(screen), show_live) for one in live]
        parts += [(one.format.writer(file), write) for one, write in zip(data, writes, strict=True)]
        try:
            yield Reports(parts, shown)
        finally:
            shown.end()


_UNSEEN = 1.0
"""Seconds for which a run shows no progress."""

_BETWEEN = 0.1
"""Seconds between two changes of the progress."""


class Progress:
    """A line on standard error that counts the files and objects of a long run, until the first output or its end.

    It stays hidden in a CI system, in a file and on a terminal without cursor.
    """

    __slots__ = ("_due", "_file", "_files", "_is_shown", "_objects")

    def __init__(self) -> None:
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        is_visible = is_terminal and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
        self._due = time.monotonic() + _UNSEEN if is_visible else math.inf
        self._is_shown = False
        self._file: str | None = None
        self._files = 0
        self._objects = 0

    def count(self, entry: Entry) -> None:
        if entry.file != self._file:
            self._file = entry.file
            self._files += 1
        self._objects += isinstance(entry, Result)
        if (now := time.monotonic()) >= self._due:
            self._due = now + _BETWEEN
            self._is_shown = True
            draw(f"checked {counted(self._objects, 'object')} in {counted(self._files, 'file')}")

    def end(self) -> None:
        """Remove the line. It does not return, since the report shows the progress from here on."""
        self._due = math.inf
        if self._is_shown:
            self._is_shown = False
            draw("")
