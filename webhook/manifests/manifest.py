"""One Kubernetes object of a file, with the positions of its values."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import Any, TypeAlias

from webhook.diagnostics import Diagnostic
from webhook.manifests.comments import Comment, find_comments
from webhook.manifests.position import Position, SourceText, Spot, follow
from webhook.policy.verdict import Path

_SOURCE = re.compile(r"^# Source: (.*)$", re.MULTILINE)
_ABOVE = 4096
"""Characters above a document that may hold the comment of Helm: it, and the licence of a template."""

FindSpot: TypeAlias = Callable[[SourceText, int], Spot]
"""Computes the spot of the value that starts at an offset of a text."""


class Document:
    """The value of one document. Its positions are computed on first use: most values have no finding.

    `comments` are known for JSON, which has none.
    """

    __slots__ = ("_comments", "_find_spot", "_spot", "number", "start", "text", "value")

    def __init__(
        self,
        number: int,
        text: SourceText,
        value: object,
        start: int,
        find_spot: FindSpot,
        comments: tuple[Comment, ...] | None = None,
    ) -> None:
        self.number = number
        self.text = text
        self.value = value
        self.start = start
        self._find_spot = find_spot
        self._spot: Spot | None = None
        self._comments = comments

    @property
    def comments(self) -> tuple[Comment, ...]:
        """The comments that ignore findings, in order."""
        if self._comments is None:
            self._comments = find_comments(self.text)
        return self._comments

    def locate(self, path: Path) -> Position:
        """Return the position of the value at a path, or of its nearest ancestor."""
        return self.text.position(self.offset(path))

    def offset(self, path: Path) -> int:
        """Return the character offset of the value at a path, or of its nearest ancestor."""
        if not path:
            return self.start
        if self._spot is None:
            self._spot = self._find_spot(self.text, self.start)
        return follow(self._spot, path)

    def excerpt(self, path: Path) -> tuple[str, int]:
        """Return the line of the value at a path, or the part of a long line around it, and the column of that part."""
        return self.text.excerpt(self.offset(path))

    @property
    def source(self) -> str:
        """What the last comment `# Source:` above the document names, which Helm writes; empty without one."""
        above = _SOURCE.findall(self.text.content, max(0, self.start - _ABOVE), self.start)
        return str(above[-1]).strip() if above else ""


class Manifest:
    """One object of a file: a document, an item of a list document, or the object of an AdmissionReview.

    `value` is what kubectl would send as JSON, in plain dicts, lists and scalars. Treat it as read-only: where the file
    has aliases, the same dict or list may occur in it more than once. `namespace` is that of the review; empty without.
    """

    __slots__ = ("_document", "_path", "file", "namespace", "value")

    def __init__(self, file: str, document: Document, path: Path, value: dict[str, Any], namespace: str = "") -> None:
        self.file = file
        self.value = value
        self.namespace = namespace
        self._document = document
        self._path = path

    @property
    def document(self) -> int:
        """The number of the document in its file, from 1."""
        return self._document.number

    @property
    def source(self) -> str:
        """The template of a chart that gave the object; empty if no comment of Helm names one."""
        return self._document.source

    def unshared(self) -> Any:
        """Return a copy of `value` that may be changed: each dict and list occurs in it once.

        The target of an alias is copied for each alias; the reader has bounded the total size.
        """
        return _copied(self.value)

    @property
    def line(self) -> int:
        """The first line of the object."""
        return self.locate(()).line

    def at(self, path: Path) -> object:
        """Return the value at a path in the object; None where there is none."""
        value: Any = self.value
        for step in path:
            try:
                value = value[step]
            except (LookupError, TypeError):
                return None
        return value

    @property
    def comments(self) -> tuple[Comment, ...]:
        """The comments that ignore findings of this object: from its first line to the next object of its document."""
        every = self._document.comments
        if not every:
            return ()
        first = self.line if self._path and self._path[-1] != 0 else 0
        after = self._next_line()
        start = bisect_left(every, first, key=_place)
        return every[start:] if after is None else every[start : bisect_left(every, after, key=_place)]

    def _next_line(self) -> int | None:
        """The first line of the next item of the list; None after the last one, and without a list."""
        *holder, last = self._path or ("",)
        if not isinstance(last, int):
            return None
        following = self._document.offset((*holder, last + 1))
        return self._document.text.line(following) if following > self._document.offset(self._path) else None

    def locate(self, path: Path) -> Position:
        """Return the position of the value at a path in the object, or of the nearest ancestor that exists."""
        return self._document.locate(self._path + path)

    def excerpt(self, path: Path) -> tuple[str, int]:
        """Return the line of the value at a path, or the part of a long line around it, and the column of that part."""
        return self._document.excerpt(self._path + path)

    def diagnostic(self, path: Path, message: str) -> Diagnostic:
        """Return a diagnostic for the value at a path in the object."""
        return Diagnostic(self.file, *self.locate(path), message)


def _place(comment: Comment) -> int:
    return comment.place


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value
