"""The changes of a text that make its edits. They add to the text; what they take out is `[]`, null or an alias."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from webhook.manifests.marks import BELOW, QUOTES, AliasMark, Anchor, CollectionMark, Marks, ScalarMark
from webhook.report.data import json_line, json_text, yaml_line, yaml_text
from webhook.report.rewrite.wanted import (
    Entries,
    TextNode,
    UneditableError,
    Values,
    Wanted,
    alias_node,
    edited_nodes,
    follow,
)

_NEW_LINE = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_COMMENT = re.compile("( *)#[^\n\r\x85\u2028\u2029]*(?:\r\n|[\n\r\x85\u2028\u2029])")
_AFTER_LAST = re.compile(r"(?P<comma>[ \t]*,)?[ \t]*(?:#[^\n]*)?\r?\n")
_QUOTED_KEY = re.compile(r'(?:\s|#[^\n]*+)*+((?:[&!]\S*+\s++)*+")')
"""A quoted key after blanks and comments, perhaps with an anchor or a tag."""

_LONG_LINE = 4096
_SAFE_END = re.compile(r"[A-Za-z0-9.,-]+")


@dataclass(frozen=True, slots=True)
class Change:
    """Text in place of the characters from `start` to `end`. Of several at one place, the deepest comes first."""

    start: int
    end: int
    text: str
    depth: int


def _insert(node: TextNode, offset: int, text: str) -> Change:
    return Change(offset, offset, text, node.depth)


def _replace(node: TextNode, start: int, end: int, text: str) -> Change:
    return Change(start, end, text, node.depth)


def changes(marks: Marks, wanted: Wanted, values: Values) -> list[Change]:
    """Return the changes that make the edits, in the order of the text. Raises UneditableError.

    The text of an anchor that an edit changes would show in each alias of it: these aliases get their values as text.
    """
    changer = _Changer(marks, values)
    nodes = edited_nodes(marks, wanted)
    made = [change for node in nodes for change in changer.edit(node)]
    starts = [node.start for node in nodes]
    edited = {node.start for node in nodes if isinstance(node.mark, AliasMark)}
    for alias in marks.aliases:
        held = alias.anchor.mark
        is_changed = bisect_left(starts, held.start) < bisect_left(starts, held.end + 1)
        if is_changed and alias.start not in edited:
            made += changer.expand(alias_node(alias), alias.anchor)
    return sorted(made, key=lambda change: (change.start, -change.depth))


class _Changer:
    def __init__(self, marks: Marks, values: Values) -> None:
        self.content = marks.content
        self.values = values
        self.layout = Layout.of(marks)

    def edit(self, node: TextNode) -> Iterator[Change]:
        wanted, mark = node.wanted, node.mark
        if isinstance(mark, AliasMark):
            yield from self._replace(node, self.values.after(node.path))
        elif wanted.becomes is not None:
            added = wanted.becomes.added
            end = self._end_of_text(node, added)
            if end is None:
                yield from self._become(node, wanted.becomes.value)
            else:
                yield _insert(node, end, added)
        elif isinstance(mark, CollectionMark) and (entries := [*wanted.entries, *self._merged(node, mark)]):
            yield from self._append(node, mark, entries)

    def expand(self, alias: TextNode, anchor: Anchor) -> Iterator[Change]:
        """Yield the changes that write out what an alias stands for."""
        if anchor.place is None:
            raise UneditableError("a merge key holds an anchor that the edits concern; write its aliases out")
        yield from self._replace(alias, follow(self.values.original, anchor.path))

    def _merged(self, node: TextNode, mark: CollectionMark) -> Entries:
        """Return the entries that only a merge key gives a mapping and that change: they get a key of their own."""
        if not isinstance(mark.inside, dict):
            return []
        missing = [key for key in node.wanted.inside if key not in mark.inside]
        return [(str(key), self.values.after((*node.path, key))) for key in missing]

    def _end_of_text(self, node: TextNode, added: str) -> int | None:
        """Return where to add to a text; None where the value has to be written as a whole."""
        if not isinstance(node.mark, ScalarMark) or not _SAFE_END.fullmatch(added):
            return None
        if node.mark.style in QUOTES:
            return node.end - 1
        return node.end if not node.mark.style and not node.in_flow else None

    def _become(self, node: TextNode, value: Any) -> Iterator[Change]:
        if node.start < node.end:
            yield from self._replace(node, value)
        elif self.content[node.start - 1] == ":":
            if node.column is None or not is_filled(value):
                yield _insert(node, node.start, f" {self._line(node, value)}")
            else:
                yield from self._below(node, node.start, node.end, value)
        elif node.in_flow:
            yield _insert(node, node.start, f": {self.layout.line(value)}")
        else:
            raise UneditableError('a key after "?" has no value; write ": null" below it')

    def _replace(self, node: TextNode, value: Any) -> Iterator[Change]:
        """Yield the changes that write a value in place of a scalar or an alias."""
        if node.column is not None and is_filled(value):
            yield from self._below(node, node.start, node.end, value)
        elif node.in_flow or not is_filled(value):
            ended = "\n" if isinstance(node.mark, ScalarMark) and node.mark.style in BELOW else ""
            yield _replace(node, node.start, node.end, self._line(node, value) + ended)
        else:
            column = len(self._before(node.start) or "")
            first, *rest = self.layout.block(value, column)
            yield _replace(node, node.start, node.end, first.strip())
            yield _insert(node, self._line_after(node.end), "".join(rest))

    def _line(self, node: TextNode, value: Any) -> str:
        """Return a value for a place beside a key or within brackets: on lines of its own where the text has such."""
        if not self.layout.unit or not is_filled(value):
            return self.layout.line(value)
        return self.layout.entry_lines(None, value, self._indent(node.start)).lstrip()

    def _below(self, node: TextNode, start: int, end: int, value: Any) -> Iterator[Change]:
        """Yield the changes that write a collection in block style below the line of the text that it replaces."""
        if start < end:
            yield _replace(node, self._blanks_before(start), end, "")
        lines = self.layout.block(value, (node.column or 0) + self.layout.indent(value))
        yield _insert(node, self._line_after(end), "".join(lines))

    def _append(self, node: TextNode, mark: CollectionMark, entries: Entries) -> Iterator[Change]:
        value: Any = dict(entries) if isinstance(mark.inside, dict) else [one for _, one in entries]
        if not mark.is_flow:
            below = self._past_comments(self._line_after(mark.end), node, mark)
            yield _insert(node, below, "".join(self.layout.block(value, mark.column)))
        elif self.content[mark.opened - 1] not in "[{":
            raise UneditableError('a pair within "[ ]" has no braces; put it in "{ }"')
        elif mark.last is not None:
            yield from self._append_in_brackets(node, mark.last, entries)
        elif self.content[mark.opened : mark.closed].strip():  # a comment
            indent = self._indent(mark.closed)
            lines = ",\n".join(self.layout.entry_lines(*one, f"{indent}  ") for one in entries)
            yield _insert(node, mark.closed, f"{lines.removeprefix(indent)}\n{indent}")
        elif node.column is None or self.layout.unit:
            yield _replace(node, mark.opened - 1, mark.closed + 1, self._line(node, value))
        else:
            yield from self._below(node, mark.opened - 1, mark.closed + 1, value)

    def _append_in_brackets(self, node: TextNode, last: int, entries: Entries) -> Iterator[Change]:
        """Yield the changes that add entries after the last one: on lines of their own if that one has such a line."""
        # libyaml takes no comma after the colon of a key without a value.
        comma = " ," if self.content[node.end - 1] == ":" else ","
        indent = self._before(last)
        after = _AFTER_LAST.match(self.content, node.end)
        if after is None or indent is None or indent.strip(" \t"):
            yield _insert(node, node.end, f"{comma} " + ", ".join(self.layout.entry(*one) for one in entries))
            return
        lines = ",\n".join(self.layout.entry_lines(*one, indent) for one in entries)
        if after["comma"] is None:
            yield _insert(node, node.end, comma)
        yield _insert(node, after.end(), lines + ("\n" if after["comma"] is None else ",\n"))

    def _indent(self, offset: int) -> str:
        """Return the blanks at the start of the line of an offset."""
        line = self._before(offset) or ""
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _blanks_before(self, offset: int) -> int:
        """Return the start of the blanks before an offset."""
        blanks = self._before(offset) or ""
        return offset - len(blanks) + len(blanks.rstrip(" \t"))

    def _before(self, offset: int) -> str | None:
        """Return the line before an offset; None for a very long one, of which every edit would read all."""
        start = self.content.rfind("\n", max(0, offset - _LONG_LINE), offset) + 1
        return self.content[start:offset] if start or offset < _LONG_LINE else None

    def _line_after(self, end: int) -> int:
        """Return the start of the line after the one where a value ends. A text in block style ends with its line."""
        if self.content[end - 1] in "\n\r\x85\u2028\u2029":
            return end
        found = _NEW_LINE.search(self.content, end)
        return len(self.content) if found is None else found.end()

    def _past_comments(self, offset: int, node: TextNode, mark: CollectionMark) -> int:
        """Return the offset after comments below a collection that are indented like its entries."""
        column = mark.column
        if isinstance(mark.inside, list) and column == node.column:
            column += 1  # such a comment is about the next key
        while (found := _COMMENT.match(self.content, offset)) and len(found[1]) >= column:
            offset = found.end()
        return offset


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text lays out its collections: the indents of a mapping and of a list below the key that holds them.

    Where the text shows no block collection, lists are not indented. `is_quoted` says whether the root has braces and
    its keys quotes, as in JSON, and `unit` is the indent of such keys that have lines of their own.
    """

    mapping_indent: int = 2
    list_indent: int = 0
    unit: str = ""
    is_quoted: bool = False

    @classmethod
    def of(cls, marks: Marks) -> Layout:
        """Return the layout of a text, of which all marks are known."""
        layout = cls(marks.indents.get(dict, 2), marks.indents.get(list, 0))
        root, content = marks.top.inside[0], marks.content
        if not isinstance(root, CollectionMark) or not isinstance(root.inside, dict) or not root.is_flow:
            return layout
        first = None if root.last is None else _QUOTED_KEY.match(content, root.opened)
        if first is None:
            return layout
        before = content[content.rfind("\n", 0, first.start(1)) + 1 : first.start(1)]
        return replace(layout, unit="" if before.strip(" \t") else before, is_quoted=True)

    def indent(self, value: Any) -> int:
        """Return the indent of a collection in block style below the key that holds it."""
        return self.mapping_indent if isinstance(value, dict) else self.list_indent

    def block(self, value: Any, column: int, lead: str = "") -> Iterator[str]:
        """Yield the lines of a filled mapping or list in block style whose entries are at a column.

        Each line has its line break, and the first one begins with `lead` in place of blanks.
        """
        lead = lead or " " * column
        for key, one in value.items() if isinstance(value, dict) else ((None, one) for one in value):
            if key is None and is_filled(one):
                yield from self.block(one, column + 2, f"{lead}- ")
            elif is_filled(one):
                yield f"{lead}{_key(key)}\n"
                yield from self.block(one, column + self.indent(one))
            else:
                written = f"- {_scalar(one)}" if key is None else f"{_key(key)} {_scalar(one)}"
                yield lead + written.replace("\n", f"\n{' ' * column}") + "\n"
            lead = " " * column

    def line(self, value: Any) -> str:
        """Return a value on one line, for a place within brackets or beside a key."""
        return json_line(value) if self.is_quoted else yaml_line(value)

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
    is_simple = len(text) <= _SIMPLE and "\n" not in _known(text)
    return f"{_known(text)}:" if is_simple else yaml_text({text: None}).removesuffix(" null\n")


_SIMPLE = 100
"""Characters of a key that YAML takes without a question mark before it, with room for escapes."""


@lru_cache(maxsize=1024)
def _known(text: str) -> str:
    return _written(text)


def _written(value: Any) -> str:
    return yaml_text([value])[2:-1]
