"""The reports of one run: every format that `-o` names, each to its destination."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from webhook.cli.options import Output
from webhook.cli.outputs import STDOUT, Write, destinations
from webhook.cli.screen import paint, show
from webhook.report import Entry, Tally
from webhook.report.check import CheckFormat
from webhook.report.paint import plain
from webhook.report.writer import Writer


class Reports:
    """The reports of a run, which get the same entries."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[tuple[Writer, Write]]) -> None:
        self._parts = parts

    def add(self, entry: Entry) -> None:
        """Write an entry into each report. Raises InputError if one cannot be written."""
        for writer, write in self._parts:
            if text := writer.add(entry):
                write(text)

    def end(self, tally: Tally) -> None:
        """Write the end of each report. Raises InputError if one cannot be written."""
        for writer, write in self._parts:
            write(writer.end(tally))


@contextmanager
def reports(outputs: Sequence[Output[CheckFormat]]) -> Iterator[Reports]:
    """Yield the reports. At the end, those that are data are put into place. Raises InputError.

    A report for people on standard output appears line by line.
    """
    live = [one for one in outputs if one.file == STDOUT and one.format.is_for_people]
    data = [one for one in outputs if one not in live]
    with destinations([one.file for one in data]) as writes:
        parts: list[tuple[Writer, Write]] = [(one.format.writer(paint(sys.stdout)), show) for one in live]
        parts += [(one.format.writer(plain), write) for one, write in zip(data, writes, strict=True)]
        yield Reports(parts)
