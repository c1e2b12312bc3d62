"""Positions in a text, and the tree that leads from a path to the offset of its value."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from webhook.policy.verdict import Path

# The character offset where a value starts; for a mapping or list also the spots of its own values. Only containers
# need a tuple, and most values are scalars.
Spot: TypeAlias = "int | tuple[int, Spots]"
Spots: TypeAlias = "dict[str, Spot] | list[Spot]"

STEP = 1024
"""Values that are found before a spot is looked at again."""

_BLOCK = 1024
"""Characters between the places of which the line is kept: an index of all lines takes many times their memory."""

_EXCERPT = 200
"""Characters of a line that an excerpt shows before and after a value."""


class Position(NamedTuple):
    """A position in a file. Line and column count from 1, the column in characters."""

    line: int
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

    def around(self, offset: int, most: int) -> str:
        """Return the line of a character offset, up to some characters before and after it."""
        start, end = self._line(offset, most)
        return self.content[start:end]

    def excerpt(self, offset: int) -> tuple[str, int]:
        """Return the line of a character offset, or the part of a long line around it, and the column of that part."""
        start, end = self._line(offset, _EXCERPT)
        return self.content[start:end], self.position(start).column

    def _line(self, offset: int, most: int) -> tuple[int, int]:
        before = self.content.rfind("\n", max(0, offset - most), offset)
        end = self.content.find("\n", offset, offset + most)
        return before + 1 if before >= 0 else max(0, offset - most), end if end >= 0 else offset + most

    def line(self, offset: int) -> int:
        return self.position(offset).line


def only_place(spot: Spot, path: Path, text: str) -> int | None:
    """Return the offset of the scalar at `path`; None if it may stand for other values, or they for it.

    That is a value with an anchor, in one, or from an alias: what an alias or a merge key brings in is before it.
    """
    before = 0
    for step in path:
        if isinstance(spot, int) or text[spot[0]] in _SHARING or spot[0] < before:
            return None
        before, inner = spot
        try:
            spot = inner[step]  # type: ignore[index]
        except LookupError:
            return None
    return spot if isinstance(spot, int) and spot >= before and text[spot] not in _SHARING else None


_SHARING = "&*"
"""How anchors and aliases begin."""


def follow(spot: Spot, path: Path) -> int:
    """Return the offset of the value at `path`, or of the nearest ancestor that exists."""
    for step in path:
        if isinstance(spot, int):
            return spot
        offset, inner = spot
        if isinstance(inner, dict):
            if step not in inner:
                return offset
            spot = inner[step]
        elif isinstance(step, int) and 0 <= step < len(inner):
            spot = inner[step]
        else:
            return offset
    return spot if isinstance(spot, int) else spot[0]


def is_reached(spot: Spot, path: Path) -> bool:
    """Return whether a spot that still grows leads to the value at `path`, or to a scalar above."""
    for step in path:
        if isinstance(spot, int):
            return True
        inner = spot[1]
        if isinstance(inner, dict):
            if step not in inner:
                return False
            spot = inner[step]
        elif not isinstance(step, int) or step < 0:
            return True
        elif step < len(inner):
            spot = inner[step]
        else:
            return False
    return True
