"""The edits as a unified diff of each file, which `git apply` and `patch -p1` accept.

The diff follows from the places that change: a comparison of texts takes quadratic time. The lines are those of the
file, byte for byte. A line that would be a command for a CI system or for a terminal keeps the diff from being written
there: with an escape it would not apply.
"""

from __future__ import annotations

import io
import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from webhook.diagnostics import Diagnostic
from webhook.manifests import STDIN
from webhook.report.mutation import Destination, Medium, MutationWriter, is_command, is_printable
from webhook.report.rewrite import EditedFile, Splice, applied, rewrite

_COLOURS = {"@": "cyan", "-": "red", "+": "green"}
_QUOTED = re.compile(rb'[^\x20-\x7e]|["\\]|#(?=#\w*\[)')


class DiffWriter(MutationWriter):
    """Writes the diff of each file."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._written: set[str] = set()

    def file(self, edited: EditedFile) -> Iterator[str | Diagnostic]:
        path = _path(edited.name)
        if path in self._written:
            return  # the same diff would not apply twice
        self._written.add(path)
        rewritten = list(rewrite(edited.data, edited.mutations))
        for one in rewritten:
            yield from one.failures("no diff")
        lines = list(unified(edited.data, [splice for one in rewritten for splice in one.splices]))
        problem = next(self._problems(edited.name, lines), None)
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


def _path(file: str) -> str:
    """Return the path that a diff names: below the working directory where possible, else from the root."""
    if file == STDIN:
        return "stdin"
    below = posixpath.relpath(file)
    return posixpath.abspath(file).lstrip("/") if below.startswith("../") else below


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
    """Adjacent lines of a file that change, from the index `start` to `end`, and the lines in their place."""

    start: int
    end: int
    new: list[bytes]


def unified(data: bytes, splices: Iterable[Splice]) -> Iterator[DiffLine]:
    """Yield the lines of the hunks for splices in the order of the file; nothing where nothing changes."""
    lines = _split(data)
    hunks: list[list[_Group]] = []
    for group in _groups(data, lines, splices):
        if hunks and group.start - hunks[-1][-1].end <= 2 * CONTEXT:
            hunks[-1].append(group)  # their context meets
        else:
            hunks.append([group])
    added = 0
    for hunk in hunks:
        first = max(0, hunk[0].start - CONTEXT)
        shown = list(_shown(lines, hunk, first))
        old = sum(line.mark != "+" for line in shown)
        new = sum(line.mark != "-" for line in shown)
        head = f"@@ -{_range(first + 1, old)} +{_range(first + 1 + added, new)} @@\n"
        yield DiffLine("@", head.encode(), first + 1)
        yield from shown
        added += new - old


def _split(text: bytes) -> list[bytes]:
    """Return the lines, each with its line break: only a line feed ends a line of a diff."""
    return io.BytesIO(text).readlines()


def _range(first: int, count: int) -> str:
    """Return the range of lines for the head of a hunk: the first line, and the count unless it is 1."""
    return str(first) if count == 1 else f"{first if count else first - 1},{count}"


def _groups(data: bytes, lines: list[bytes], splices: Iterable[Splice]) -> Iterator[_Group]:
    """Yield the lines that change. Splices in the same line, or at its end, belong to one group."""
    starts = [0, *accumulate(map(len, lines))]
    # Text at the end of a file without a last line break belongs to the last line.
    last = len(lines) if data.endswith(b"\n") else len(lines) - 1
    spans: list[tuple[int, int, list[Splice]]] = []
    for splice in splices:
        start, end = (min(bisect_right(starts, offset) - 1, last) for offset in (splice.start, splice.end))
        if splice.end != starts[end] or not splice.new.endswith(b"\n"):
            end = min(end + 1, len(lines))  # a part of the line stays, or joins the new text
        if spans and start < spans[-1][1]:
            first, reached, inside = spans[-1]
            inside.append(splice)
            spans[-1] = first, max(reached, end), inside
        else:
            spans.append((start, end, [splice]))
    for start, end, inside in spans:
        new = _split(applied(data, inside, starts[start], starts[end]))
        while start < end and new and lines[end - 1] == new[-1]:
            end -= 1
            new.pop()
        same = 0
        while start + same < end and same < len(new) and lines[start + same] == new[same]:
            same += 1
        if start + same < end or new[same:]:
            yield _Group(start + same, end, new[same:])


def _shown(lines: list[bytes], hunk: list[_Group], first: int) -> Iterator[DiffLine]:
    """Yield the lines of a hunk with those around them."""
    for group in hunk:
        yield from (DiffLine(" ", lines[at], at + 1) for at in range(first, group.start))
        yield from (DiffLine("-", lines[at], at + 1) for at in range(group.start, group.end))
        yield from (DiffLine("+", line, group.end + 1) for line in group.new)
        first = group.end
    yield from (DiffLine(" ", lines[at], at + 1) for at in range(first, min(first + CONTEXT, len(lines))))
