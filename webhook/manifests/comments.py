"""Comments of a YAML document that begin with `# gpushare-webhook: ignore`, and the lines that they are about."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from webhook.manifests.position import SourceText

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
    return tuple(_comment(text, one, targets) for one in _outside_values(text.content, found))


def _comment(text: SourceText, found: re.Match[str], targets: list[int]) -> Comment:
    line, column = text.position(found.start())
    target = targets[line - text.first_line]
    return Comment(line, column, target + text.first_line if target >= 0 else 0, found[1].strip())


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
    """Yield what is not inside a scalar. Both are in the order of the text."""
    scalars = _scalars(content)
    start, end = next(scalars, _END)
    for one in found:
        while end <= one.start():
            start, end = next(scalars, _END)
        if one.start() < start:
            yield one


_END = (sys.maxsize, sys.maxsize)


def _scalars(content: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each scalar; nothing after an error, which the reader reports."""
    # Most inputs have no such comment, and most are read without PyYAML.
    from yaml import CSafeLoader, YAMLError
    from yaml.events import ScalarEvent

    parser = CSafeLoader(content)
    try:
        while parser.check_event():
            event = parser.get_event()
            if isinstance(event, ScalarEvent):
                yield _span(event, content)
    except YAMLError:
        return


def _span(scalar: Any, content: str) -> tuple[int, int]:
    """The start and the end of a scalar. A comment may follow the indicator of a block scalar."""
    start, end = scalar.start_mark.index, scalar.end_mark.index
    return content.find("\n", start, end) if scalar.style in ("|", ">") else start, end
