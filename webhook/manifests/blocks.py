"""Read a YAML document in plain block style, which people and tools write, line by line.

This takes a seventh of the composer's time. Everything else is left to the composer as a whole document, so that the
meaning of YAML and its errors stay in one place: anchors, tags, text of several lines, escapes, unusual characters and
indentation, and all that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from webhook.manifests.block_lines import BELOW, CONTENT, Entry, entries_of


class Plain(NamedTuple):
    """The mapping of a document, and the character offset where it starts."""

    value: dict[str, Any]
    start: int


# The root follows blank lines, comments and an indent.
_ROOT = re.compile(r"^[ ]*+([^ #\n])", re.MULTILINE)

_BLOCK = 64 * 1024
"""Characters whose lines are held at once."""


def read(content: str) -> Plain | None:
    """Return the mapping of a document in plain block style; None for any other document."""
    if not _is_printable(content):
        return None
    try:
        root = _composed(chain.from_iterable(map(entries_of, _lines(content))))
    except ValueError:
        return None
    return Plain(root, _start(content)) if root.__class__ is dict else None


def _is_printable(content: str) -> bool:
    """Whether a text holds only line breaks and printable characters."""
    if content.isascii():  # most are; `isprintable` looks each character up in a table of all characters
        return not content.encode().translate(None, _PRINTABLE)
    return content.replace("\n", "").isprintable()


_PRINTABLE = b"\n" + bytes(range(0x20, 0x7F))


def _lines(content: str) -> Iterator[list[str]]:
    """Yield the lines that hold something, some at once: a list of all would take many times the memory of the text."""
    start = 0
    while start <= len(content):
        end = content.find("\n", start + _BLOCK)
        end = len(content) if end < 0 else end
        yield CONTENT.findall(content, start, end)
        start = end + 1


def _composed(entries: Iterable[Entry]) -> Any:
    """Return the value that the entries make up. Raises ValueError where their columns are not plain."""
    # The innermost open mapping or list with its column, those around it, and its key whose value is still to come. The
    # root is the value of the only key of an artificial mapping.
    document: dict[str, Any] = {}
    block: Any = document
    column = -1
    key: str | None = ""
    is_due = True
    around: list[tuple[int, Any]] = []
    for at, name, value in entries:
        if is_due:
            is_due = False
            if at > column or (at == column and name is None and key is not None):
                around.append((column, block))
                column, block = at, _opened(block, key, name)
            else:
                _put(block, key, None)
        while at < column:
            column, block = around.pop()
        if name is not None and block.__class__ is list:
            column, block = around.pop()
        if at != column or (name is None) is (block.__class__ is dict) or (name is not None and name in block):
            raise ValueError(name)
        if value is BELOW:
            key, is_due = name, True
        elif name is None:
            block.append(value)
        else:
            block[name] = value
    if is_due:
        _put(block, key, None)
    return document[""]


def _opened(block: Any, key: str | None, name: str | None) -> Any:
    """Return a new list or mapping, whatever its first entry needs, that is the value of the key."""
    value: Any = [] if name is None else {}
    if key is None:
        block.append(value)
    else:
        block[key] = value
    return value


def _put(block: Any, key: str | None, value: Any) -> None:
    if key is None:
        block.append(value)
    else:
        block[key] = value


def _start(content: str) -> int:
    """Return where the root starts."""
    found = _ROOT.search(content)
    return found.start(1) if found else 0
