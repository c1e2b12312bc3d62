"""The text of a document: the line and column of an offset, the marks of values, and the error of unreadable text."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from webhook.policy.messages import printable
from webhook.policy.verdict import Path

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


QUOTES = ("'", '"')
BELOW = ("|", ">")
"""The styles of scalars whose text begins on the next line."""
FILE = "file"
"""The style of a text that is a whole file."""


class ScalarMark(NamedTuple):
    """A scalar with its anchor and tag. `style` is the first character of its text; empty for a plain one.

    A value that is missing is where libyaml expected it: behind the colon or the dash in block style.
    """

    start: int
    end: int
    style: str


_NO_KEYS: dict[Any, int] = {}
"""The keys of every list: a dict of its own would double the memory of a short one."""


class CollectionMark:
    """A mapping or list: the marks of its values. Those that only a merge key brings in are not among its `keys`.

    `start` is that of its anchor, tag or first character, and `last` the last value. `column` is that of the entries in
    block style, from 0. `keys` holds the offsets of the keys of a mapping.
    """

    __slots__ = ("column", "end", "inside", "is_flow", "keys", "last", "start")

    def __init__(self, inside: Any, start: int, column: int = -1, *, is_flow: bool) -> None:
        self.inside: Any = inside
        self.keys: dict[Any, int] = {} if inside.__class__ is dict else _NO_KEYS
        self.start = start
        self.end = start
        self.column = column
        self.is_flow = is_flow
        self.last: Mark | None = None

    def at(self, step: str | int) -> Mark | None:
        """Return the mark of the value at a key or an index; None where there is none."""
        inside = self.inside
        if inside.__class__ is dict:
            return inside.get(step)
        return inside[step] if step.__class__ is int and 0 <= step < len(inside) else None


class AliasMark(NamedTuple):
    """An alias, and the value with the anchor that it names."""

    start: int
    held: ScalarMark | CollectionMark


Mark: TypeAlias = ScalarMark | CollectionMark | AliasMark


class Marks:
    """The tree of a document's marks.

    `top` is an artificial list of the root alone. `aliases` are in the order of the text. `indents` holds the columns
    between a block mapping and the first block mapping, and the first block list, that is a value of it. `repeated`
    holds keys that are given again, and where.
    """

    __slots__ = ("aliases", "content", "indents", "repeated", "top")

    def __init__(self, content: str) -> None:
        self.content = content
        self.top = CollectionMark([], 0, is_flow=False)
        self.aliases: list[AliasMark] = []
        self.indents: dict[type, int] = {}
        self.repeated: list[tuple[str, int]] = []

    def nearest(self, path: Path) -> Mark:
        """Return the mark of the value at a path, or of its nearest ancestor."""
        mark: Mark = self.top.inside[0]
        for step in path:
            held = mark.held if isinstance(mark, AliasMark) else mark
            below = held.at(step) if isinstance(held, CollectionMark) else None
            if below is None:
                return mark
            mark = below
        return mark

    def key(self, path: Path) -> int | None:
        """Return the offset of the last key of a path; None for an index, and for a key that a merge brings in."""
        holder = self.nearest(path[:-1])
        held = holder.held if isinstance(holder, AliasMark) else holder
        return held.keys.get(path[-1]) if path and isinstance(held, CollectionMark) else None

    def length(self, mark: Mark, value: object) -> int:
        """Return the characters of a scalar that stands on one line as it is; 0 for any other value, and a long one."""
        if not isinstance(mark, ScalarMark) or mark.end - mark.start > EXCERPT:
            return 0
        text = self.content[mark.start : mark.end]
        is_other = not mark.style and isinstance(value, str) and text != value
        return 0 if is_other or "\n" in text or text.startswith(_NOT_PLAIN) else len(text)

    def end_of(self, mark: Any) -> int:
        """Return the offset after the last character of a value, without blank lines that do not belong to it."""
        while isinstance(mark, CollectionMark) and not mark.is_flow:
            mark = mark.last
        end: int = mark.end
        if isinstance(mark, ScalarMark) and mark.style in BELOW:
            header = self.content.find("\n", mark.start)
            if "+" not in self.content[mark.start : header]:
                while self.content.endswith(("\n\n", "\n\r\n"), mark.start, end):
                    end -= 1 if self.content[end - 2] == "\n" else 2
        return end


_NOT_PLAIN = ("&", "!", *BELOW)
