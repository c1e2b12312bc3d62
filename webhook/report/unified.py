"""A unified diff of a file, from the places that change: no comparison of texts, which takes quadratic time.

The lines are those of the file, byte for byte, so that `git apply` and `patch` accept the diff.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from webhook.report.rewrite import Splice

CONTEXT = 3
"""Unchanged lines around a change."""

NO_NEWLINE = "\\ No newline at end of file"
"""What follows a line without a line break."""


class Line(NamedTuple):
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


def unified(data: bytes, splices: Iterable[Splice]) -> Iterator[Line]:
    """Yield the lines of the hunks for splices in the order of the file; nothing where nothing changes."""
    number, reached, added = 1, 0, 0
    for hunk in _hunks(data, _groups(data, splices)):
        first = _back(data, hunk[0].start)
        number += data.count(b"\n", reached, first)
        reached = first
        lines = list(_lines(data, hunk, first, number))
        old = sum(line.mark in " -" for line in lines)
        new = sum(line.mark in " +" for line in lines)
        yield Line("@", f"@@ -{_range(number, old)} +{_range(number + added, new)} @@\n".encode(), number)
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
    pieces, reached = [], start
    for splice in splices:
        pieces += [data[reached : splice.start], splice.new]
        reached = splice.end
    old, new = _split(data[start:end]), _split(b"".join([*pieces, data[reached:end]]))
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
    lines = [line + b"\n" for line in text.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


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


def _lines(data: bytes, hunk: list[_Group], first: int, number: int) -> Iterator[Line]:
    reached = first
    for group in hunk:
        before = _split(data[reached : group.start])
        for mark, lines in ((" ", before), ("-", group.old), ("+", group.new)):
            for line in lines:
                yield Line(mark, line, number)
                number += mark != "+"
        reached = group.end
    for line in _split(data[reached : _forward(data, reached, CONTEXT)]):
        yield Line(" ", line, number)
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
