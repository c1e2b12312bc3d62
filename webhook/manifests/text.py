"""The text of a document: the line and column of an offset, and the error of text that cannot be read."""

from __future__ import annotations

from typing import NamedTuple

from webhook.policy.messages import printable

_BLOCK = 1024
"""Characters between the places of which the line is kept: an index of all lines takes many times their memory."""

EXCERPT = 200
"""Characters of a line that an excerpt shows before and after a value."""


class Position(NamedTuple):
    """A position in a file. Line and column count from 1, the column in characters."""

    line: int
    column: int


class Excerpt(NamedTuple):
    """A line of a file, or the part of a long line around a value. `column` is that of its first character, from 1."""

    text: str
    column: int


class SourceText:
    """A part of a file that starts `indent` characters into `first_line`. Lines end with `\\n`, as in editors."""

    __slots__ = ("_blocks", "content", "first_line", "indent")

    def __init__(self, content: str, first_line: int = 1, indent: int = 0) -> None:
        self.content = content
        self.first_line = first_line
        self.indent = indent
        # For the start of each block, as far as it is known: the line breaks before it, and where its line starts.
        self._blocks = [(0, 0)]

    def position(self, offset: int) -> Position:
        """Return the line and column of a character offset."""
        while len(self._blocks) * _BLOCK <= offset:
            self._blocks.append(self._line_of(len(self._blocks) * _BLOCK))
        lines, start = self._line_of(offset)
        return Position(self.first_line + lines, offset - start + 1 + (0 if start else self.indent))

    def _line_of(self, offset: int) -> tuple[int, int]:
        """Return the number of line breaks before an offset, and where its line starts. The block before is known."""
        block = max(0, offset - 1) // _BLOCK
        lines, start = self._blocks[block]
        begin = block * _BLOCK
        last = self.content.rfind("\n", begin, offset)
        return (lines, start) if last < 0 else (lines + self.content.count("\n", begin, last + 1), last + 1)

    def excerpt(self, offset: int) -> Excerpt:
        """Return the line of a character offset, or the part of a long line around it."""
        first = max(0, offset - EXCERPT)
        start = self.content.rfind("\n", first, offset) + 1 or first
        end = self.content.find("\n", offset, offset + EXCERPT)
        return Excerpt(self.content[start : end if end >= 0 else offset + EXCERPT], self.position(start).column)


DEEPEST = 256
"""Levels of nesting: far more than any Kubernetes object needs, far fewer than the stack of a recursive reader."""

TOO_DEEP = f"nested deeper than {DEEPEST} levels"

_LONGEST_QUOTE = 48


class UnreadableError(Exception):
    """A text that cannot be read, and the character offset of the reason."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def quoted(text: str) -> str:
    """Return text of a file for a message: in quotes, shortened and sanitised."""
    return f'"{printable(text, _LONGEST_QUOTE)}"'


def given_twice(key: str, first_line: int, offset: int) -> UnreadableError:
    """Return the error for a mapping key that is given twice."""
    return UnreadableError(f"mapping key {quoted(key)} is given twice, first on line {first_line}", offset)
