"""The formats of `check -o`: their interface, and one module for each, which is imported when it is chosen."""

from __future__ import annotations

from enum import Enum
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


class CheckFormat(Enum):
    """A format of `check`. The value is the word that `-o` takes and the name of the module."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"

    def writer(self, page: Page) -> Writer:
        match self:
            case CheckFormat.TEXT:
                from webhook.report.check.text import QuietWriter, TextWriter

                return QuietWriter(page) if page.is_quiet else TextWriter(page)
            case CheckFormat.JSON:
                from webhook.report.check.json import JsonWriter

                return JsonWriter()
            case CheckFormat.JUNIT:
                from webhook.report.check.junit import JunitWriter

                return JunitWriter()
            case CheckFormat.SARIF:
                from webhook.report.check.sarif import SarifWriter

                return SarifWriter(page.tree)
            case CheckFormat.GITHUB:
                from webhook.report.check.github import GithubWriter

                return GithubWriter(page)
