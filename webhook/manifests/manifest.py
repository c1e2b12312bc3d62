"""One Kubernetes object of a file, with the positions of its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from webhook.diagnostics import Diagnostic
from webhook.manifests.position import Position, SourceText, Spot, follow
from webhook.policy.verdict import Path

FindSpot: TypeAlias = Callable[[SourceText, int], Spot]
"""Computes the spot of the value that starts at an offset of a text."""


class Document:
    """The value of one document. Its positions are computed on first use: most values have no finding."""

    __slots__ = ("_find_spot", "_spot", "number", "start", "text", "value")

    def __init__(self, number: int, text: SourceText, value: object, start: int, find_spot: FindSpot) -> None:
        self.number = number
        self.text = text
        self.value = value
        self.start = start
        self._find_spot = find_spot
        self._spot: Spot | None = None

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


class Manifest:
    """One object of a file: a document, or an item of a list document.

    `value` is what kubectl would send as JSON, in plain dicts, lists and scalars. Treat it as read-only: where the file
    has aliases, the same dict or list may occur in it more than once.
    """

    __slots__ = ("_document", "_path", "file", "value")

    def __init__(self, file: str, document: Document, path: Path, value: object) -> None:
        self.file = file
        self.value = value
        self._document = document
        self._path = path

    @property
    def document(self) -> int:
        """The number of the document in its file, from 1."""
        return self._document.number

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

    def locate(self, path: Path) -> Position:
        """Return the position of the value at a path in the object, or of the nearest ancestor that exists."""
        return self._document.locate(self._path + path)

    def excerpt(self, path: Path) -> tuple[str, int]:
        """Return the line of the value at a path, or the part of a long line around it, and the column of that part."""
        return self._document.excerpt(self._path + path)

    def diagnostic(self, path: Path, message: str) -> Diagnostic:
        """Return a diagnostic for the value at a path in the object."""
        return Diagnostic(self.file, *self.locate(path), message)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value
