"""How far a scalar reaches in the text of its file."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"(?:[-+.0-9][^\s,\[\]{}#]*|[A-Za-z]+|~)(?=[\s,\]}]|\Z)")
"""A number, a boolean or null."""

_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*"')
_SINGLE = re.compile(r"'(?:[^']|'')*'")
_END = re.compile(r"[ \t\r]*(?:[,\]}]|[ \t]#|[\r\n]|\Z)")
"""What follows a plain scalar on its line: the end of an element, a comment or the end of the line."""


def extent(text: str, value: object) -> int:
    """Return the number of characters of the scalar with which a line's text begins.

    0 where the text does not hold the scalar as a whole: a mapping, a list, text of several lines, a cut line.
    """
    if isinstance(value, dict | list):
        return 0
    quoted = _DOUBLE.match(text) or _SINGLE.match(text)
    if quoted is not None:
        return quoted.end()
    if isinstance(value, str) and value and text.startswith(value):
        return len(value) if _END.match(text, len(value)) else 0
    plain = _PLAIN.match(text)
    return plain.end() if plain is not None and not isinstance(value, str) else 0
