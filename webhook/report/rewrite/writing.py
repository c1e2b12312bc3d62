"""New values in the layout of a text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from webhook.report.data import json_line, json_text, yaml_line, yaml_text
from webhook.report.rewrite.outline import Layout


class Writing:
    """Writes values as a text lays them out. Where the text shows no block collection, lists are not indented."""

    def __init__(self, layout: Layout) -> None:
        self.unit = layout.unit
        self._mapping = 2 if layout.mapping is None else layout.mapping
        self._list = 0 if layout.list is None else layout.list
        self._line = json_line if layout.is_quoted else yaml_line

    def indent(self, value: Any) -> int:
        """Return the indent of a collection in block style below the key that holds it."""
        return self._mapping if isinstance(value, dict) else self._list

    def block(self, value: Any, column: int) -> Iterator[str]:
        """Yield the lines, each with its line break, of a mapping or list in block style whose entries are at a column.

        The collection has entries.
        """
        yield from self._block(value, column, " " * column)

    def _block(self, value: Any, column: int, lead: str) -> Iterator[str]:
        """Yield the lines; the first one begins with `lead`."""
        for key, one in value.items() if isinstance(value, dict) else ((None, one) for one in value):
            if key is None and is_filled(one):
                yield from self._block(one, column + 2, f"{lead}- ")
            elif is_filled(one):
                yield f"{lead}{_key(key)}\n"
                inner = column + self.indent(one)
                yield from self._block(one, inner, " " * inner)
            else:
                written = f"- {_scalar(one)}" if key is None else f"{_key(key)} {_scalar(one)}"
                yield lead + written.replace("\n", f"\n{' ' * column}") + "\n"
            lead = " " * column

    def line(self, value: Any) -> str:
        """Return a value on one line, for a place within brackets or beside a key."""
        return self._line(value)

    def entry(self, key: str | None, value: Any) -> str:
        """Return an entry of a collection in brackets on one line."""
        return self.line(value) if key is None else self.line({key: value})[1:-1]

    def entry_lines(self, key: str | None, value: Any, indent: str) -> str:
        """Return an entry of a collection whose entries have lines of their own, from the first line's indent on."""
        if not self.unit:
            return indent + self.entry(key, value)
        written = json_text(value if key is None else {key: value}).removesuffix("\n").split("\n")
        lines = written if key is None else [line[2:] for line in written[1:-1]]
        return "\n".join(indent + self._as_unit(line) for line in lines)

    def _as_unit(self, line: str) -> str:
        text = line.lstrip(" ")
        return self.unit * ((len(line) - len(text)) // 2) + text


def is_filled(value: Any) -> bool:
    """Return whether a value is a mapping or list with entries, which block style needs."""
    return isinstance(value, dict | list) and bool(value)


_LONGEST = 256
"""Characters of a text whose YAML is kept. The edits of all pods are much alike."""


def _scalar(value: Any) -> str:
    """Return a scalar, or a collection without entries, as the value of a key."""
    return _known(value) if isinstance(value, str) and len(value) <= _LONGEST else _written(value)


def _key(key: str | None) -> str:
    text = str(key)
    return f"{_known(text)}:" if len(text) <= _SIMPLE and "\n" not in _known(text) else _explicit(text)


_SIMPLE = 100
"""Characters of a key that YAML takes without a question mark before it, with room for escapes."""


@lru_cache(maxsize=1024)
def _known(text: str) -> str:
    return _written(text)


def _written(value: Any) -> str:
    return yaml_text([value])[2:-1]


def _explicit(key: str) -> str:
    return yaml_text({key: None}).removesuffix(" null\n")
