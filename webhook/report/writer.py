"""The interface of the formats of `check`: a page to write on, and the writer of one report."""

from __future__ import annotations

from posixpath import isabs, join, normpath
from typing import NamedTuple, Protocol

from webhook.report.lines import Paint, plain
from webhook.report.model import Entry
from webhook.report.tally import FailOn, Tally


class SourceTree(NamedTuple):
    """The root of the repository, and the working directory in it. Both are absolute paths, or empty if unknown.

    Names then stay as they are given."""

    root: str = ""
    working: str = ""

    def relative(self, file: str) -> str:
        """Return the name of a file relative to the root; the absolute name of a file outside it."""
        if file.startswith("<"):
            return file
        path = normpath(file if isabs(file) else join(self.working, file))
        return path.removeprefix(f"{self.root.rstrip('/')}/") if self.root else path


class Page(NamedTuple):
    """The colours and the columns of a terminal, the decisions with which the run fails, and the repository.

    `width` is None where lines are not wrapped, such as in a file. On a quiet page, text for people is limited to the
    findings with which the run fails.
    """

    paint: Paint = plain
    width: int | None = None
    fail_on: FailOn = FailOn.DENY
    is_quiet: bool = False
    tree: SourceTree = SourceTree()


class Writer(Protocol):
    """Writes one report. It keeps no more than a bounded part of what it has written, apart from errors."""

    def add(self, entry: Entry) -> str:
        """Return the text for the next entry; empty if there is none."""

    def end(self, tally: Tally) -> str:
        """Return the end of the report."""
