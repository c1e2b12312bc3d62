"""What a line of a YAML document in plain block style holds: a key, a value, a list item, or nothing.

A line that is not plain raises ValueError: with an anchor, a tag, text that continues, an escape, an unusual character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from webhook.manifests import brackets
from webhook.manifests.plain import KEY, key, scalar
from webhook.manifests.position import Spot

Entry: TypeAlias = tuple[int, str | None, Any]
"""The column, the key (None for a list item) and the value.

An item that is a mapping is followed by the first key of the mapping.
"""

BELOW: Any = object()
"""The value of an entry that the following entries hold, if they are deeper."""

# Columns bound the nesting: only a list in a mapping may start in the same column.
_INDENT = r"[ ]{0,100}+"
# ":" and "#" inside a word are text. Every quantifier of the patterns is possessive or followed by what it excludes, so
# that time is linear.
_REST = r"[^ :]*+(?::++[^ :]++)*+"
_PLAIN = rf"(?:[\w./~+$^=<;(\\]|-++[A-Za-z0-9]){_REST}(?:[ ]++[^ :#]{_REST})*+"
_LINE = re.compile(
    rf"""(?P<indent>{_INDENT})(?P<dash>-[ ]{{1,8}}+(?![ ]))?+(?:(?P<key>{KEY}):(?![^ ])[ ]*+)?+"""
    rf"""(?:(?P<plain>{_PLAIN})|"(?P<double>[^"\\]*+)"|'(?P<single>[^']*+)'|(?P<flow>[\[{{][^#]*+))?+"""
    r"(?:[ ]*+|[ ]++\#.*+|(?<![^ ])\#.*+)"
)

CONTENT = re.compile(r"^[ ]*+[^ #\n].*", re.MULTILINE)
"""A line that is neither blank nor a comment."""

_MOST_LINES = 4096
_LONGEST_LINE = 500
"""Characters of a line whose meaning is kept: many lines of Kubernetes objects occur again and again."""


def entries_of(lines: list[str]) -> Iterator[Entry]:
    """Return what some lines hold."""
    entries = _kept_entries if max(map(len, lines), default=0) <= _LONGEST_LINE else _entries
    return chain.from_iterable(map(entries, lines))


def _entries(text: str) -> tuple[Entry, ...]:
    indent, dash, name, plain, double, single, flow = _matched(text).groups()
    value: Any = BELOW
    if plain is not None:
        value = scalar(plain)
    elif double is not None or single is not None:
        value = single if double is None else double
    elif flow is not None:
        value = brackets.value(flow)
    column = len(indent)
    if name is not None:
        entry = (column + len(dash or ""), key(name), value)
        return ((column, None, BELOW), entry) if dash else (entry,)
    if dash:
        return ((column, None, value),)
    if value is not BELOW:
        raise ValueError(text)
    return ()


_kept_entries = lru_cache(_MOST_LINES)(_entries)


def _matched(text: str) -> re.Match[str]:
    found = _LINE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return found


class Place(NamedTuple):
    """Where an entry is: its column, its key, its offset, and the spot of its value, or that of null without one.

    `is_due`: the following entries hold the value, if they are deeper.
    """

    column: int
    key: str | None
    offset: int
    spot: Spot
    is_due: bool


def places(text: str, start: int) -> Iterator[Place]:
    """Yield the places of the entries of a line that starts at an offset."""
    found = _matched(text)
    name = found["key"]
    spot = _spot_of_value(found, start)
    if found["dash"] is not None:
        at = found.end("indent")
        null = start + at + 1
        yield Place(at, None, start + at, null if spot is None else spot, name is not None or spot is None)
    if name is not None:
        at = found.start("key")
        null = start + found.end("key") + 1
        yield Place(at, key(name), start + at, null if spot is None else spot, spot is None)


def _spot_of_value(found: re.Match[str], start: int) -> Spot | None:
    """Return the spot of the value of a line that starts at an offset; None without a value."""
    if found["flow"] is not None:
        return brackets.spot(found["flow"], start + found.start("flow"))
    if found["plain"] is not None:
        return start + found.start("plain")
    inside = max(found.start("double"), found.start("single"))
    return start + inside - 1 if inside >= 0 else None
