"""Decode a stream of JSON values, and find where each value stands."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, NoReturn

from webhook.manifests import scalars
from webhook.manifests.text import (
    DEEPEST,
    TOO_DEEP,
    CollectionMark,
    Marks,
    ScalarMark,
    SourceText,
    UnreadableError,
    given_twice,
)

# Possessive: otherwise the engine would keep every escape of a long string for backtracking.
_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_TOKENS = re.compile(_STRINGS.pattern + r'|[\[\]{},]|[^\s\[\]{},:"]+', re.DOTALL)
# Garbage may follow a number that the decoder rejects, since the decoder stops there.
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_BLANKS = re.compile(r"[ \t\r\n]*")
_NESTING = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKET = bytes(set(range(256)) - set(_NESTING))
# Whole pairs and escaped backslashes match too, so that no part of them is mistaken for a lone surrogate.
_SURROGATES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
_LONGEST_INTEGER = 20


class JsonSyntaxError(UnreadableError):
    """Text that is not JSON from an offset on; it may still be YAML."""


class _RefusedError(Exception):
    """The decoder found a duplicate key or a number out of range, at an unknown offset."""


class _NoJsonError(Exception):
    """The decoder found a JavaScript constant that is not JSON, at an unknown offset."""


class JsonValue(NamedTuple):
    """A value of a stream, or the error of one that is refused, and its start and end.

    `items` holds the starts of the elements of a list that is the member "items".
    """

    value: object
    start: int
    end: int
    items: Sequence[int] = ()


def values(text: SourceText) -> Iterator[JsonValue]:
    """Yield each value. Raises JsonSyntaxError where JSON ends."""
    content = _without_lone_surrogates(text.content)
    # The decoder recurses, so it must never see values nested too deep: their places are found first.
    too_deep = _too_deep(content, 0) if _is_deep(content) else None
    start = _skip_blanks(content, 0)
    if too_deep is None and (found := _list(content, start)):  # kubectl prints a list as one value
        yield found
        start = _skip_blanks(content, found.end)
    while start < len(content):
        if too_deep is not None and too_deep < (end := _end(content, start)):
            found = JsonValue(UnreadableError(TOO_DEEP, too_deep), start, end)
            too_deep = _too_deep(content, end)
        else:
            found = _decode(text, content, start)
        yield found
        start = _skip_blanks(content, found.end)


def _decode(text: SourceText, content: str, start: int) -> JsonValue:
    try:
        value, end = _DECODER.raw_decode(content, start)
        return JsonValue(value, start, end)
    except json.JSONDecodeError as error:
        raise JsonSyntaxError(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", error.pos) from None
    except _NoJsonError as error:
        raise JsonSyntaxError(f"not JSON: {error}", content.index(str(error), start)) from None
    except _RefusedError:
        try:
            find_marks(text, start)
        except UnreadableError as error:
            return JsonValue(error, start, _end(content, start))
        raise


def _list(content: str, start: int) -> JsonValue | None:
    """Decode an object whose member "items" is a list, so that the places of its elements are known.

    None for any other value, and where the decoder of the whole value knows what is wrong.
    """
    held: dict[str, object] = {}
    starts: list[int] = []
    offset = start
    try:
        while content[offset] == ("," if held else "{"):
            key, offset = _DECODER.raw_decode(content, _skip_blanks(content, offset + 1))
            offset = _skip_blanks(content, offset)
            if not isinstance(key, str) or key in held or content[offset] != ":":
                return None
            offset = _skip_blanks(content, offset + 1)
            if key == "items" and content[offset] == "[":
                elements: list[object] = []
                while content[offset] == ("," if elements else "["):
                    starts.append(_skip_blanks(content, offset + 1))
                    element, offset = _DECODER.raw_decode(content, starts[-1])
                    elements.append(element)
                    offset = _skip_blanks(content, offset)
                if content[offset] != "]":
                    return None
                held[key], offset = elements, offset + 1
            else:
                held[key], offset = _DECODER.raw_decode(content, offset)
            offset = _skip_blanks(content, offset)
    except (IndexError, json.JSONDecodeError, _RefusedError, _NoJsonError):
        return None
    return JsonValue(held, start, offset + 1, starts) if starts and content[offset] == "}" else None


def find_marks(text: SourceText, start: int) -> Marks:
    """Return the marks of the value of JSON at an offset. Raises UnreadableError for what the decoder refuses."""
    content = text.content
    marks = Marks(content)
    holder = marks.top
    outer: list[CollectionMark] = []
    key: str | None = None
    for token in _TOKENS.finditer(content, start):
        offset, word = token.start(), token[0]
        if word in "]}":
            holder = outer.pop()
        elif key is None and isinstance(holder.inside, dict) and word != ",":
            key = str(json.loads(_without_lone_surrogates(word))) if "\\" in word else word[1:-1]
            if key in holder.keys:
                raise given_twice(key, text.position(holder.keys[key]).line, offset)
            holder.keys[key] = offset
        elif word != ",":
            is_scalar = word not in "[{"
            if (number := _NUMBER.match(word)) and math.isinf(float(number[0])):
                raise UnreadableError("this number exceeds the range of 64-bit floats", offset)
            mark: Any = ScalarMark(offset, token.end(), '"' if word[0] == '"' else "")
            if not is_scalar:
                mark = CollectionMark({} if word == "{" else [], offset, is_flow=True)
            if key is None:
                holder.inside.append(mark)
            else:
                holder.inside[key] = mark
                key = None
            if not is_scalar:
                outer.append(holder)
                holder = mark
        if not outer:
            break
    return marks


def _end(content: str, start: int) -> int:
    """Return the offset after the value that starts with a bracket, or the end of the text."""
    depth = 0
    for token in _TOKENS.finditer(content, start):
        depth += _NESTING.get(ord(token[0][0]), 0)
        if depth == 0:
            return token.end()
    return len(content)


def _skip_blanks(content: str, offset: int) -> int:
    found = _BLANKS.match(content, offset)
    return found.end() if found else offset


def _is_deep(content: str) -> bool:
    if content.count("[") + content.count("{") <= DEEPEST:
        return False
    brackets = _STRINGS.sub("", content).encode().translate(None, _NO_BRACKET)
    return max(accumulate(map(_NESTING.__getitem__, brackets)), default=0) > DEEPEST


def _too_deep(content: str, start: int) -> int | None:
    """Return the offset of the first bracket below the deepest allowed level."""
    depth = 0
    for token in _TOKENS.finditer(content, start):
        depth += _NESTING.get(ord(token[0][0]), 0)
        if depth > DEEPEST:
            return token.start()
    return None


def _without_lone_surrogates(content: str) -> str:
    """Replace the escape of a lone surrogate by that of U+FFFD, which is as long, as Go's decoder does."""
    if "\\ud" not in content and "\\uD" not in content:
        return content
    return _SURROGATES.sub(lambda found: "\\ufffd" if found[1] else found[0], content)


def _integer(text: str) -> int | float:
    return scalars.json_number(int(text)) if len(text) <= _LONGEST_INTEGER else _float(text)


def _float(text: str) -> int | float:
    value = float(text)
    if math.isinf(value):
        raise _RefusedError
    return scalars.json_number(value)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _RefusedError
    return value


def _constant(text: str) -> NoReturn:
    raise _NoJsonError(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)
