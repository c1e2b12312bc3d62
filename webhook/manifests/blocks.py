"""Read a YAML document in plain block style, which people and tools write, line by line.

This takes a seventh of the composer's time. Everything else is left to the composer as a whole document, so that the
meaning of YAML and its errors stay in one place: anchors, tags, text of several lines, escapes, unusual characters and
indentation, and all that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

from webhook.manifests import scalars

# The root follows blank lines, comments and an indent.
_ROOT = re.compile(r"^[ ]*+([^ #\n])", re.MULTILINE)

_BLOCK = 64 * 1024
"""Characters whose lines are held at once."""


def read(content: str) -> tuple[dict[str, Any], int] | None:
    """Return the mapping of a document in plain block style and its offset; None for any other document."""
    if not _is_printable(content):
        return None
    try:
        root = _composed(chain.from_iterable(map(_entries_of, _lines(content))))
    except ValueError:
        return None
    found = _ROOT.search(content)
    return (root, found.start(1)) if found and root.__class__ is dict else None


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
        yield _CONTENT.findall(content, start, end)
        start = end + 1


def _composed(entries: Iterable[_Entry]) -> Any:
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
                opened: Any = [] if name is None else {}
                _put(block, key, opened)
                column, block = at, opened
            else:
                _put(block, key, None)
        while at < column:
            column, block = around.pop()
        if name is not None and block.__class__ is list:
            column, block = around.pop()
        if at != column or (name is None) is (block.__class__ is dict) or (name is not None and name in block):
            raise ValueError(name)
        if value is _BELOW:
            key, is_due = name, True
        elif name is None:
            block.append(value)
        else:
            block[name] = value
    if is_due:
        _put(block, key, None)
    return document[""]


def _put(block: Any, key: str | None, value: Any) -> None:
    if key is None:
        block.append(value)
    else:
        block[key] = value


_NAME = r"[A-Za-z_][A-Za-z0-9_./-]{0,250}+"
_KEY = rf'(?:{_NAME}|"{_NAME}")'

_Entry: TypeAlias = tuple[int, str | None, Any]
"""The column, the key (None for an item) and the value. The first key of a mapping in a list follows its item."""

_BELOW: Any = object()
"""The value of an entry that the following entries hold, if they are deeper."""

# Columns bound the nesting: only a list in a mapping may start in the same column.
_INDENT = r"[ ]{0,100}+"
# ":" and "#" inside a word are text. Every quantifier of the patterns is possessive or followed by what it excludes, so
# that time is linear.
_REST = r"[^ :]*+(?::++[^ :]++)*+"
_PLAIN = rf"(?:[\w./~+$^=<;(\\]|-++[A-Za-z0-9]){_REST}(?:[ ]++[^ :#]{_REST})*+"
_LINE = re.compile(
    rf"""({_INDENT})(-[ ]{{1,8}}+(?![ ]))?+(?:({_KEY}):(?![^ ])[ ]*+)?+"""
    rf"""(?:({_PLAIN})|"([^"\\]*+)"|'([^']*+)'|([\[{{][^#]*+))?+"""
    r"(?:[ ]*+|[ ]++\#.*+|(?<![^ ])\#.*+)"
)

_CONTENT = re.compile(r"^[ ]*+[^ #\n].*", re.MULTILINE)
"""A line that is neither blank nor a comment."""

_MOST_LINES = 4096
_LONGEST_LINE = 500
"""The longest line whose entries are kept: many lines of Kubernetes objects occur again and again."""

# Inside brackets: a bracket, a comma, a key with its colon, or a scalar.
_WORD = r"(?:[\w./~$]|-++[A-Za-z0-9])[\w./=+@%$~()-]*+(?::[\w./][\w./=+@%$~()-]*+)*+"
_PIECE = rf"""(?:[\[\]{{}},]|{_KEY}:(?=[ ])|{_WORD}|"[^"\\]*+"|'[^']*+')"""
_FLOW = re.compile(rf"(?:{_PIECE}[ ]*+)++")
_PIECES = re.compile(_PIECE)

_MOST_BRACKETS = 50


def _entries_of(lines: list[str]) -> Iterator[_Entry]:
    entries = _kept_entries if max(map(len, lines), default=0) <= _LONGEST_LINE else _entries
    return chain.from_iterable(map(entries, lines))


def _entries(text: str) -> tuple[_Entry, ...]:
    found = _LINE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    indent, dash, name, plain, double, single, flow = found.groups()
    value: Any = _BELOW
    if plain is not None:
        value = _scalar(plain)
    elif double is not None or single is not None:
        value = single if double is None else double
    elif flow is not None:
        value = _in_brackets(flow)
    column = len(indent)
    if name is not None:
        entry = (column + len(dash or ""), _key(name), value)
        return ((column, None, _BELOW), entry) if dash else (entry,)
    if dash:
        return ((column, None, value),)
    if value is not _BELOW:
        raise ValueError(text)
    return ()


_kept_entries = lru_cache(_MOST_LINES)(_entries)


def _in_brackets(text: str) -> Any:
    """Return a mapping or list on one line, of plain scalars and quoted text without escapes. Raises ValueError."""
    if not _FLOW.fullmatch(text) or text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise ValueError(text)
    pieces = iter(_PIECES.findall(text))
    found = _value(next(pieces), pieces)
    if next(pieces, None) is not None:
        raise ValueError(text)
    return found


def _value(piece: str, pieces: Iterator[str]) -> Any:
    """Return the value that begins with a piece; its other pieces are taken from the iterator."""
    if piece == "[":
        return _list(pieces)
    if piece == "{":
        return _mapping(pieces)
    if not piece or piece[-1] in ":,]}":
        raise ValueError(piece)
    return piece[1:-1] if piece[0] in "\"'" else _scalar(piece)


def _list(pieces: Iterator[str]) -> list[Any]:
    items: list[Any] = []
    for piece in pieces:
        if piece == "]":
            return items
        items.append(_value(piece, pieces))
        if _is_last(pieces, "]"):
            return items
    raise ValueError("]")


def _mapping(pieces: Iterator[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for piece in pieces:
        if piece == "}":
            return values
        name = _key(piece[:-1])
        if piece[-1] != ":" or name in values:
            raise ValueError(piece)
        values[name] = _value(next(pieces, ""), pieces)
        if _is_last(pieces, "}"):
            return values
    raise ValueError("}")


def _is_last(pieces: Iterator[str], end: str) -> bool:
    """Return whether the end follows, and not a comma."""
    piece = next(pieces, "")
    if piece not in (end, ","):
        raise ValueError(piece)
    return piece == end


def _key(text: str) -> str:
    """Return a key without its quotes. Raises ValueError for a plain one that is not text."""
    if text in scalars.WORDS:
        raise ValueError(text)
    return text.strip('"')


def _scalar(text: str) -> scalars.Scalar:
    """Return the meaning of a plain scalar. Raises ValueError for a number without a JSON form."""
    value = scalars.plain(text)
    return scalars.json_number(value) if value.__class__ is int or value.__class__ is float else value
