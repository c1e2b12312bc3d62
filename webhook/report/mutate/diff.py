"""The edits as a unified diff of each file, which `git apply` and `patch -p1` accept.

The diff follows from the places that change: a comparison of texts takes quadratic time. The lines are those of the
file, byte for byte. A line that would be a command for a CI system or for a terminal keeps the diff from being written
there: with an escape it would not apply.
"""

from __future__ import annotations

import io
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.diagnostics import Diagnostic
from webhook.manifests import STDIN
from webhook.report.file_writer import FileWriter, is_command, is_printable
from webhook.report.mutation_writer import Destination, Medium, Mutation
from webhook.report.rewrite import Splice, applied, rewrite

_COLOURS = {"@": "cyan", "-": "red", "+": "green"}
_QUOTED = re.compile(rb'[^\x20-\x7e]|["\\]|#(?=#\w*\[)')


class DiffWriter(FileWriter):
    """Writes the diff of a file after its last object."""

    def __init__(self, destination: Destination) -> None:
        super().__init__()
        self._destination = destination
        self._written: set[str] = set()

    def file(self, file: str, data: bytes, mutations: Sequence[Mutation]) -> Iterator[str | Diagnostic]:
        edited = [one for one in mutations if one.operations]
        path = _path(file, self._destination.folder)
        if not edited or path in self._written:
            return  # the same diff would not apply twice
        self._written.add(path)
        rewritten = rewrite(data, edited)
        for one in rewritten.failures:
            failure = one.diagnostic("no diff")
            yield replace(failure, message=f"{failure.message}; use -o yaml")
        lines = list(unified(data, rewritten.splices))
        problem = next(self._problems(file, lines), None)
        if problem is not None:
            yield problem
        elif lines:
            yield self._text(path, lines)

    def _problems(self, file: str, lines: list[DiffLine]) -> Iterator[Diagnostic]:
        """Yield what keeps the lines from being written to the destination."""
        for line in lines:
            try:
                text = line.content.decode()
            except UnicodeDecodeError:
                yield Diagnostic(file, line.number, 1, "no diff: this line is not UTF-8 text")
                continue
            if self._destination.medium is not Medium.FILE and is_command(line.mark + text):
                reason = "no diff here: a CI system would read this line as a command; use -o diff=FILE"
                yield Diagnostic(file, line.number, 1, reason)
            elif self._destination.medium is Medium.TERMINAL and not is_printable(text):
                reason = "no diff on a terminal: a character of this line is not printable"
                yield Diagnostic(file, line.number, 1, f"{reason}; redirect the output to a file")

    def _text(self, path: str, lines: list[DiffLine]) -> str:
        paint = self._destination.paint
        pieces = [paint(f"--- {_name('a', path)}", "red"), "\n", paint(f"+++ {_name('b', path)}", "green"), "\n"]
        for line in lines:
            text = line.content.decode()
            mark = "" if line.mark == "@" else line.mark
            body = text.rstrip("\r\n")
            shown = mark + body
            pieces += [paint(shown, _COLOURS[line.mark]) if line.mark in _COLOURS else shown, text[len(body) :]]
            if not text.endswith("\n"):
                pieces.append(f"\n{NO_NEWLINE}\n")
        return "".join(pieces)


def _path(file: str, folder: str) -> str:
    """Return the path that a diff names: below the folder where possible, else from the root."""
    if file == STDIN:
        return "stdin"
    absolute = posixpath.normpath(posixpath.join(folder, file))
    below = posixpath.relpath(absolute, folder)
    return absolute.lstrip("/") if below.startswith("../") else below


def _name(side: str, path: str) -> str:
    """Return a name for the head of a diff as git writes it: in quotes with escapes, or with a tab after blanks."""
    name = f"{side}/{path}".encode()
    if _QUOTED.search(name):
        return '"' + _QUOTED.sub(lambda found: b"\\%03o" % found[0][0], name).decode() + '"'
    return name.decode() + ("\t" if b" " in name else "")


CONTEXT = 3
"""Unchanged lines around a change."""

NO_NEWLINE = "\\ No newline at end of file"
"""What follows a line without a line break."""


class DiffLine(NamedTuple):
    """A line of a diff: its mark, its content with its line break, if it has one, and its line in the file, from 1.

    The mark is a blank for both sides, `-` for the file, `+` for the edited one, which has the line of what follows,
    and `@` for the head of a hunk.
    """

    mark: str
    content: bytes
    number: int


class _Group(NamedTuple):
    """Adjacent lines of a file that change: where they start, and the lines before and after."""

    start: int
    old: list[bytes]
    new: list[bytes]

    @property
    def end(self) -> int:
        return self.start + sum(map(len, self.old))


def unified(data: bytes, splices: Iterable[Splice]) -> Iterator[DiffLine]:
    """Yield the lines of the hunks for splices in the order of the file; nothing where nothing changes."""
    number, reached, added = 1, 0, 0
    for hunk in _hunks(data, _groups(data, splices)):
        first = _back(data, hunk[0].start)
        number += data.count(b"\n", reached, first)
        reached = first
        lines = list(_lines(data, hunk, first, number))
        old = sum(line.mark in " -" for line in lines)
        new = sum(line.mark in " +" for line in lines)
        yield DiffLine("@", f"@@ -{_range(number, old)} +{_range(number + added, new)} @@\n".encode(), number)
        yield from lines
        added += new - old


def _range(first: int, count: int) -> str:
    """Return the range of lines for the head of a hunk: the first line, and the count unless it is 1."""
    return str(first) if count == 1 else f"{first if count else first - 1},{count}"


def _groups(data: bytes, splices: Iterable[Splice]) -> Iterator[_Group]:
    """Yield the lines that change. Splices in the same line, or at its end, belong to one group."""
    start = end = -1
    pending: list[Splice] = []
    for splice in splices:
        # Whole lines between two lines are a group of their own, but a file may end without a line break.
        in_group = splice.start < end or (splice.start == end and data[end - 1 : end] not in (b"\n", b""))
        if not pending or not in_group:
            if pending:
                yield from _group(data, start, end, pending)
            start, pending = data.rfind(b"\n", 0, splice.start) + 1, []
        if not pending or splice.end >= end:
            end = _line_end(data, splice)
        pending.append(splice)
    if pending:
        yield from _group(data, start, end, pending)


def _line_end(data: bytes, splice: Splice) -> int:
    """Return the end of the last line that a splice changes: none for whole lines between two lines."""
    starts_line = data[splice.end - 1 : splice.end] in (b"\n", b"")
    if starts_line and splice.new.endswith(b"\n"):
        return splice.end
    return data.find(b"\n", splice.end) + 1 or len(data)


def _group(data: bytes, start: int, end: int, splices: list[Splice]) -> Iterator[_Group]:
    """Yield the group from one offset to another, without the lines at both ends that stay."""
    old, new = _split(data[start:end]), _split(applied(data, splices, start, end))
    while old and new and old[-1] == new[-1]:
        old.pop()
        new.pop()
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    if old[same:] or new[same:]:
        yield _Group(start + sum(map(len, old[:same])), old[same:], new[same:])


def _split(text: bytes) -> list[bytes]:
    """Return the lines, each with its line break: only a line feed ends a line of a diff."""
    return io.BytesIO(text).readlines()


def _hunks(data: bytes, groups: Iterable[_Group]) -> Iterator[list[_Group]]:
    """Yield the groups of each hunk: those with so few lines between them that their context meets."""
    hunk: list[_Group] = []
    for group in groups:
        if hunk and _forward(data, hunk[-1].end, 2 * CONTEXT) < group.start:
            yield hunk
            hunk = []
        hunk.append(group)
    if hunk:
        yield hunk


def _lines(data: bytes, hunk: list[_Group], first: int, number: int) -> Iterator[DiffLine]:
    reached = first
    for group in hunk:
        before = _split(data[reached : group.start])
        for mark, lines in ((" ", before), ("-", group.old), ("+", group.new)):
            for line in lines:
                yield DiffLine(mark, line, number)
                number += mark != "+"
        reached = group.end
    for line in _split(data[reached : _forward(data, reached, CONTEXT)]):
        yield DiffLine(" ", line, number)
        number += 1


def _back(data: bytes, offset: int) -> int:
    """Return the start of the context above the start of a line."""
    for _ in range(CONTEXT):
        if not offset:
            break
        offset = data.rfind(b"\n", 0, offset - 1) + 1
    return offset


def _forward(data: bytes, offset: int, lines: int) -> int:
    """Return the end of some lines from the start of one on."""
    for _ in range(lines):
        offset = data.find(b"\n", offset) + 1 or len(data)
    return offset
