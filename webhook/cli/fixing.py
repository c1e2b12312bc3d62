"""`check --fix`: the fixes of findings, in the files. What remains is reported by a check of the edited files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import AbstractContextManager
from pathlib import Path

from webhook.cli.in_place import editable, replace_content
from webhook.cli.screen import tell
from webhook.diagnostics import Diagnostic, InputError
from webhook.report.lines import counted
from webhook.report.model import Entry, Located, Result
from webhook.report.rewrite.fixes import fixed

MOST_ROUNDS = 8
"""Checks of the inputs at most: a fix may make another finding appear, which has a fix of its own."""


class Fixing:
    """Applies fixes, and counts what it has done. With `is_quiet`, it prints nothing.

    `left` holds the codes of findings that are not fixed: those that depend on an assumption about the cluster.
    """

    def __init__(self, left: Set[str], *, is_quiet: bool) -> None:
        self._left = left
        self._is_quiet = is_quiet
        self._findings = 0
        self._written: set[str] = set()
        self._failed: dict[str, list[Diagnostic]] = {}

    def run(self, check: Callable[[], AbstractContextManager[Iterable[Entry]]]) -> list[Diagnostic]:
        """Apply the fixes of all findings, and check again until no fix is left. Return the errors."""
        for _ in range(MOST_ROUNDS):
            with check() as entries:
                found = _gathered(entries, self._left)
            before = self._findings
            for place, files in found.items():
                if place not in self._failed:
                    self._fix(place, files)
            if self._findings == before:
                break
        if not self._is_quiet:
            tell(f"{counted(self._findings, 'finding')} fixed in {counted(len(self._written), 'file')}")
        return [one for diagnostics in self._failed.values() for one in diagnostics]

    def _fix(self, place: str, files: dict[str, list[Located]]) -> None:
        """Write the fixes of a file, which may have several names, into the file."""
        file = min(files, key=lambda name: Path(name).is_symlink())
        data = editable(file)
        if isinstance(data, Diagnostic):
            self._failed[place] = [data]
            return
        content, findings = fixed(data, files[file])
        if not findings:
            return
        try:
            replace_content(file, data, content)
        except InputError as error:
            self._failed[place] = [*error.diagnostics]
            return
        self._written.add(place)
        self._findings += len(findings)
        if not self._is_quiet:
            tell(*(f"{one.at(file)}: fixed: {one}" for one in findings))


def _gathered(entries: Iterable[Entry], left: Set[str]) -> dict[str, dict[str, list[Located]]]:
    """Return the findings with a fix, but without the codes `left`, by the place of their file, and by its name."""
    found: dict[str, dict[str, list[Located]]] = {}
    for file, located in _fixable(entries, left):
        found.setdefault(os.path.realpath(file), {}).setdefault(file, []).append(located)
    return found


def _fixable(entries: Iterable[Entry], left: Set[str]) -> Iterator[tuple[str, Located]]:
    for entry in entries:
        if isinstance(entry, Result):
            for located in entry.findings:
                if located.fix and located.finding.code not in left:
                    yield entry.file, located
