"""Mappings and lists in brackets, on one line, of plain scalars and quoted text without escapes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webhook.manifests.plain import KEY, key, scalar
from webhook.manifests.position import Spot

# Inside brackets: a bracket, a comma, a key with its colon, or a scalar.
_WORD = r"(?:[\w./~$]|-++[A-Za-z0-9])[\w./=+@%$~()-]*+(?::[\w./][\w./=+@%$~()-]*+)*+"
_PIECE = rf"""(?:[\[\]{{}},]|{KEY}:(?=[ ])|{_WORD}|"[^"\\]*+"|'[^']*+')"""
_FLOW = re.compile(rf"(?:{_PIECE}[ ]*+)++")
_PIECES = re.compile(_PIECE)

_MOST_BRACKETS = 50


def value(text: str) -> Any:
    """Return a mapping or list in brackets. Raises ValueError where it is not plain."""
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
    return piece[1:-1] if piece[0] in "\"'" else scalar(piece)


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
        name = key(piece[:-1])
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


def spot(text: str, offset: int) -> Spot:
    """Return the spot of a mapping or list in brackets that `value` can read, and that starts at an offset."""
    pieces = _PIECES.finditer(text)
    return _spot(next(pieces), pieces, offset)


def _spot(piece: re.Match[str], pieces: Iterator[re.Match[str]], offset: int) -> Spot:
    start = offset + piece.start()
    if piece[0] == "[":
        return start, [_spot(one, pieces, offset) for one in _until("]", pieces)]
    if piece[0] == "{":
        return start, {key(one[0][:-1]): _spot(next(pieces), pieces, offset) for one in _until("}", pieces)}
    return start


def _until(end: str, pieces: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Yield the first piece of each value or key up to the bracket that ends the list or mapping."""
    for piece in pieces:
        if piece[0] == end:
            return
        if piece[0] != ",":
            yield piece
