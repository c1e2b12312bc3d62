"""The reports of one run: every format that `-o` names, each to its destination."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from webhook.cli.options import Output, option_group, outputs_option, single_option
from webhook.cli.outputs import STDOUT, Write, destinations
from webhook.cli.screen import draw, paint, show, tell, width
from webhook.diagnostics import Diagnostic
from webhook.dryrun.files import up_to_root
from webhook.report.check import CheckFormat
from webhook.report.lines import counted
from webhook.report.model import Entry, Result
from webhook.report.tally import FailOn, Tally
from webhook.report.writer import Page, SourceTree, Writer


class ReportOptions(NamedTuple):
    """The reports that options name, and the decisions with which the run fails.

    `is_quiet`: text for people is limited to the findings with which the run fails.
    """

    outputs: tuple[Output[CheckFormat], ...]
    fail_on: FailOn
    is_quiet: bool


report_options = option_group(
    "wanted",
    ReportOptions,
    outputs_option(CheckFormat.TEXT, "The format of the report."),
    single_option(
        "--fail-on",
        type=click.Choice([one.value for one in FailOn]),
        default=FailOn.DENY.value,
        show_default=True,
        callback=lambda _context, _option, value: FailOn(value),
        help="Exit with 1 if an object is denied (deny), or also warned (warn), or a file or folder is hidden from "
        "the check (unread), or also an object skipped (skipped); or never. Errors always exit with 2.",
    ),
    click.option(
        "-q",
        "--quiet",
        "is_quiet",
        is_flag=True,
        help="Print only the findings that deny an object or fail the run, and no summary, in the text report.",
    ),
)
"""Adds the options of reports. The command gets them as `wanted`."""


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
def reports(wanted: ReportOptions) -> Iterator[Reports]:
    """Yield the reports. At the end, those that are data are put into place. Raises InputError.

    A report for people on standard output appears line by line, and its lines fit the terminal.
    """
    shown = Progress()

    def show_live(text: str) -> None:
        shown.end()
        show(text)

    here = Path.cwd()
    tree = SourceTree(str(up_to_root(here)[-1]), str(here))
    page = partial(Page, fail_on=wanted.fail_on, is_quiet=wanted.is_quiet, tree=tree)
    screen = page(paint=paint(sys.stdout), width=width() if sys.stdout.isatty() else None)
    file = page()
    live = [one for one in wanted.outputs if one.file == STDOUT and one.format.is_for_people]
    data = [one for one in wanted.outputs if one not in live]
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
