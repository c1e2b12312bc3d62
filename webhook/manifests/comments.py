"""Comments of a YAML document that begin with `# gpushare-webhook: ignore`, and the lines that they are about."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from webhook.manifests.text import SourceText

_MARKER = "gpushare-webhook:"
_COMMENT = re.compile(rf"(?:^|(?<=[ \t]))#[ \t]*{_MARKER}[ \t]*ignore\b([^\n]*)", re.MULTILINE)


class Comment(NamedTuple):
    """A comment: its position, the line that it is about, and its text after `ignore`.

    A comment at the end of a line is about this line. A comment on a line of its own is about the next line that is not
    a comment; `target` is 0 where that line is blank or missing.
    """

    line: int
    column: int
    target: int
    text: str

    @property
    def place(self) -> int:
        """The line by which the comment belongs to an object."""
        return self.target or self.line


def find_comments(text: SourceText) -> tuple[Comment, ...]:
    """Return the comments of a document in order. Text that looks like one inside a value is none."""
    if _MARKER not in text.content:
        return ()
    found = list(_COMMENT.finditer(text.content))
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
    from webhook.manifests.marks import scalar_spans  # most documents have no such comment

    spans = scalar_spans(content)
    start, end = next(spans, _END)
    for one in found:
        while end <= one.start():
            start, end = next(spans, _END)
        if one.start() < start:
            yield one


_END = (sys.maxsize, sys.maxsize)
