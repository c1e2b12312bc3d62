"""One Kubernetes object of a file, with the positions of its values."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from yaml import CBaseLoader, events

from webhook.diagnostics import KEY, Diagnostic
from webhook.manifests.text import BELOW, Excerpt, Mark, Marks, Position, SourceText
from webhook.policy.verdict import Path
from webhook.policy.workloads.paths import at

_MARKER = "gpushare-webhook:"
_COMMENT = re.compile(rf"(?:^|(?<=[ \t]))#[ \t]*{_MARKER}[ \t]*ignore\b([^\n]*)", re.MULTILINE)


class Comment(NamedTuple):
    """A comment: its position, the line that it is about, and its text after `ignore`.

    A comment at the end of a line is about this line. A comment on a line of its own is about the next line that is not
    a comment; `target` is 0 where that line is blank or missing. `file` is empty for the file of the object.
    """

    line: int
    column: int
    target: int
    text: str
    file: str = ""

    @property
    def place(self) -> int:
        """The line by which the comment belongs to an object."""
        return self.target or self.line


def find_comments(text: SourceText) -> tuple[Comment, ...]:
    """Return the comments of a document in order. Text that looks like one inside a value is none."""
    found = list(_COMMENT.finditer(text.content)) if _MARKER in text.content else []
    if not found:
        return ()
    targets = _targets(text.content)
    comments = []
    for one in _outside_values(text.content, found):
        line, column = text.position(one.start())
        target = targets[line - text.first_line]
        comments.append(Comment(line, column, target + text.first_line if target >= 0 else 0, one[1].strip()))
    return tuple(comments)


def _targets(content: str) -> list[int]:
    """Return, for each line, the index of the line that a comment on it is about; -1 where there is none."""
    lines = content.split("\n")
    targets = [-1] * len(lines)
    below = -1
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index].strip()
        if not line:
            below = -1
        elif not line.startswith("#"):
            below = index
        targets[index] = below
    return targets


def _outside_values(content: str, found: list[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Yield the matches that are not inside a scalar. Matches and scalars are in the order of the text."""
    spans = _scalar_spans(content)
    start, end = next(spans, _END)
    for one in found:
        while end <= one.start():
            start, end = next(spans, _END)
        if one.start() < start:
            yield one


_END = (sys.maxsize, sys.maxsize)


def _scalar_spans(content: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each scalar, keys included. A comment may follow `|`, before the text."""
    next_event: Any = CBaseLoader(content).get_event
    for event in iter(next_event, None):
        kind = event.__class__
        if kind is events.DocumentEndEvent:
            return
        if kind is events.ScalarEvent:
            start, end = event.start_mark.index, event.end_mark.index
            yield content.find("\n", start, end) if event.style in BELOW else start, end


_SOURCE = re.compile(r"^# Source: (.*)$", re.MULTILINE)
_PLACE = attrgetter("place")
_ABOVE = 4096
"""Characters above a document that may hold the comment of Helm: it, and the licence of a template."""


@dataclass(eq=False, repr=False, slots=True)
class Document:
    """The value of one document, and the marks of all values in its text.

    A document that was read as JSON may be a part of `text`. Its marks are found when they are used: most have no
    finding. Of a list, they are found for one item at a time; `items` holds where each starts. `raw` is the input that
    holds the document. `key` is that of a mapping that the text lacks, and that holds the value of the text.
    """

    number: int
    text: SourceText
    value: object
    start: int
    _marks: Marks | None = None
    is_json: bool = False
    raw: bytes = b""
    key: str | None = None
    items: Sequence[int] = ()
    _item: tuple[int, Marks] | None = None
    _comments: tuple[Comment, ...] | None = None

    @property
    def comments(self) -> tuple[Comment, ...]:
        """The comments that ignore findings, in order. JSON has none."""
        if self._comments is None:
            self._comments = () if self.is_json else find_comments(self.text)
        return self._comments

    def locate(self, path: Path) -> Position:
        """Return the position of the value at a path, or of its nearest ancestor; with KEY at the end, of the key."""
        if path[-1:] == (KEY,):
            key = self.key_start(path[:-1])
            return self.locate(path[:-1]) if key is None else self.text.position(key)
        return self.text.position(self.offset(path))

    def key_start(self, path: Path) -> int | None:
        """Return the offset of the last key of a path; None where the text has none."""
        start, within = self._start_and_rest(path)
        return self._marks_from(start).key(within)

    def offset(self, path: Path) -> int:
        start, within = self._start_and_rest(path)
        return self._marks_from(start).nearest(within).start if within else start

    def mark(self, path: Path) -> Mark:
        start, within = self._start_and_rest(path)
        return self._marks_from(start).nearest(within)

    def _start_and_rest(self, path: Path) -> tuple[int, Path]:
        """Return where the item of a path starts, or the document, and the path from there."""
        path = self.path_in_text(path)
        match path:
            case ("items", int(index), *rest) if index < len(self.items):
                return self.items[index], tuple(rest)
        return self.start, path

    def _marks_from(self, start: int) -> Marks:
        """Return the marks of the value that starts at an offset: an item, or the whole document."""
        if start == self.start:
            return self.marks
        if self._item is None or self._item[0] != start:
            from webhook.manifests.jsontext import find_marks  # most documents are YAML

            self._item = start, find_marks(self.text, start)
        return self._item[1]

    def path_in_text(self, path: Path) -> Path:
        """Return a path from the value that the text holds."""
        if self.key is None:
            return path
        return path[1:] if path[:1] == (self.key,) else ()

    @property
    def marks(self) -> Marks:
        """The tree of the marks of the document."""
        if self._marks is None:
            from webhook.manifests.jsontext import find_marks  # most documents are YAML

            self._marks = find_marks(self.text, self.start)
        return self._marks


class Origin(NamedTuple):
    """Where a value stands: its file, and the path to it in a document."""

    file: str
    document: Document
    path: Path

    def below(self, step: str | int) -> Origin:
        return self._replace(path=(*self.path, step))

    @property
    def position(self) -> Position:
        return self.document.locate(self.path)

    @property
    def mark(self) -> Mark:
        return self.document.mark(self.path)


@dataclass(eq=False, repr=False, slots=True)
class Manifest:
    """One object of a file: a document, an item of a list document, or the object of an AdmissionReview.

    `value` is what kubectl would send as JSON, in plain dicts, lists and scalars. Treat it as read-only: where the file
    has aliases, the same dict or list may occur in it more than once. `path` leads to it in its document, `within`.
    `namespace` is that of the review; empty without.
    """

    file: str
    within: Document
    path: Path
    value: dict[str, Any]
    namespace: str = ""

    @property
    def document(self) -> int:
        """The number of the document in its file, from 1."""
        return self.within.number

    @property
    def source(self) -> str:
        """The template of a chart that gave the object, as the last comment above it says; empty without a comment."""
        start = self.within.start
        above = _SOURCE.findall(self.within.text.content, max(0, start - _ABOVE), start)
        return str(above[-1]).strip() if above else ""

    def unshared(self) -> Any:
        """Return a copy of `value` that may be changed: each dict and list occurs in it once.

        The target of an alias is copied for each alias; the reader has bounded the total size.
        """
        from msgspec import json  # a check copies nothing

        return json.decode(json.encode(self.value))

    @property
    def line(self) -> int:
        return self.locate(()).line

    def at(self, path: Path) -> object:
        """Return the value at a path in the object; None where there is none."""
        return at(self.value, path)

    @property
    def comments(self) -> tuple[Comment, ...]:
        """The comments that ignore findings of this object: from its first line to the next object of its document."""
        every = self.within.comments
        if not every:
            return ()
        first = self.line if self.path and self.path[-1] != 0 else 0
        after = self._next_line()
        start = bisect_left(every, first, key=_PLACE)
        return every[start:] if after is None else every[start : bisect_left(every, after, key=_PLACE)]

    def _next_line(self) -> int | None:
        """The first line of the next item of the list; None after the last one, and without a list."""
        *holder, last = self.path or ("",)
        if not isinstance(last, int):
            return None
        following = self.within.offset((*holder, last + 1))
        return self.within.text.position(following).line if following > self.within.offset(self.path) else None

    def origin(self, path: Path) -> Origin:
        """Return where the value at a path in the object stands. The path may lead further than the text."""
        return Origin(self.file, self.within, self.path + path)

    def below(self, path: Path, value: dict[str, Any]) -> Manifest:
        """Return the value at a path in the object, or another one in its place, as an object."""
        return Manifest(self.file, self.within, self.path + path, value)

    def locate(self, path: Path) -> Position:
        """Return the position of the value at a path in the object, or of the nearest ancestor that exists."""
        return self.origin(path).position

    def in_text(self, path: Path) -> tuple[Position, Excerpt, int]:
        """Return the position of the value at a path in the object, or of the nearest ancestor, its line, its length.

        The length, in characters, is 0 for a value that is not a scalar of one line.
        """
        origin, value = self.origin(path), self.at(path)
        mark, within = origin.mark, origin.document
        length = 0 if isinstance(value, dict | list) else within.marks.length(mark, value)
        return within.text.position(mark.start), within.text.excerpt(mark.start), length

    def key_above(self, path: Path) -> tuple[Position, Excerpt] | None:
        """Return the position and the line of the key above a mapping or list with lines of its own; None without."""
        _, within, whole = self.origin(path)
        if not isinstance(self.at(path), dict | list) or not whole or isinstance(whole[-1], int):
            return None
        key, text = within.key_start(whole), within.text
        if key is None or text.position(key).line == within.locate(whole).line:
            return None
        return text.position(key), text.excerpt(key)

    def diagnostic(self, path: Path, message: str) -> Diagnostic:
        """Return a diagnostic for the value at a path in the object."""
        origin = self.origin(path)
        return Diagnostic(origin.file, *origin.position, message)


class Builds(NamedTuple):
    """What kustomizations build. `file` is that of the first object, `contents` names and bytes of all files."""

    file: str
    objects: Sequence[Manifest]
    contents: Sequence[tuple[str, bytes]]
