"""The places in a text of the values that edits concern, and of all aliases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from webhook.policy.verdict import Path
from webhook.report.rewrite.events import Event, Kind, Style, is_merge
from webhook.report.rewrite.wanted import Wanted

_COLON = re.compile(r"\s*:")


class Place(NamedTuple):
    """Where a value stands.

    `column` is that of the keys of the block mapping that holds it; None for an element of a list, and within brackets.
    `key_end` follows its key. In a mapping under a merge key it has no path.
    """

    path: Path
    depth: int
    in_flow: bool
    column: int | None
    key_end: int
    is_merged: bool


@dataclass(slots=True)
class Node:
    """A value in the text: an edited one or an alias.

    `end` follows the last character of its content, before a closing bracket. `opened` and `closed` are the offsets
    after the opening bracket and of the closing one; `opened` of a collection without brackets is its first entry.
    `column` is that of its entries, and `last` the offset of the last one; None without entries.
    """

    place: Place
    kind: Kind
    style: Style
    start: int
    end: int
    wanted: Wanted | None
    opened: int = 0
    closed: int = 0
    column: int = 0
    last: int | None = None
    keys: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Anchor:
    """A value with an anchor: its place, its last offset, and the aliases of it."""

    path: Path
    is_merged: bool
    start: int
    end: int
    aliases: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Layout:
    """How a text lays out its collections: the indents of a mapping and of a list below the key that holds them.

    `is_quoted` says whether the root has braces and its keys quotes, as in JSON, and `unit` is the indent of such keys
    that have lines of their own.
    """

    mapping: int | None = None
    list: int | None = None
    unit: str = ""
    is_quoted: bool = False


@dataclass(slots=True)
class Outline:
    """The edited values of a text, in its order, its anchors, and its layout."""

    nodes: list[Node] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)
    layout: Layout = field(default_factory=Layout)


def outline(content: str, events: Iterable[Event], key_of: Callable[[Event], str], wanted: Wanted) -> Outline:
    """Return the outline of a text for what is wanted of its root. Takes one pass, and memory for what it returns."""
    walk = _Walk(content, key_of, wanted)
    for event in events:
        if event.kind is Kind.END:
            walk.close(event)
        elif walk.expects_key:
            walk.key(event)
        else:
            walk.value(event)
    return walk.outline


class _Open:
    """A collection whose end has not come: `step` is the pending key or index."""

    __slots__ = (
        "anchor",
        "column",
        "is_flow",
        "is_mapping",
        "is_merged",
        "key_end",
        "node",
        "pending",
        "step",
        "wanted",
    )

    def __init__(self, event: Event, column: int, wanted: Wanted | None) -> None:
        self.is_mapping = event.kind is Kind.MAPPING
        self.is_flow = event.style is Style.FLOW
        self.column = column
        self.wanted = wanted
        self.step: str | int = "" if self.is_mapping else 0
        self.pending = False  # a key waits for its value
        self.is_merged = False  # the value, or what holds it, stands under a merge key
        self.key_end = 0
        self.node: Node | None = None
        self.anchor: Anchor | None = None


_ROOT = Event(Kind.LIST, 0, 0, 0, Style.BLOCK)


class _Walk:
    def __init__(self, content: str, key_of: Callable[[Event], str], wanted: Wanted) -> None:
        self.content = content
        self.key_of = key_of
        self.outline = Outline()
        # The root of the text is the only element of an artificial list.
        self.stack = [_Open(_ROOT, -1, Wanted(inside={0: wanted}))]
        self.anchors: dict[str, Anchor] = {}
        self.key_texts: dict[str, str] = {}
        self.end = 0  # of the content so far

    @property
    def expects_key(self) -> bool:
        top = self.stack[-1]
        return top.is_mapping and not top.pending

    def key(self, event: Event) -> None:
        top = self.stack[-1]
        if len(self.stack) == 2 and top.is_flow and not top.key_end:
            self._note_layout_of_root(event)
        top.pending, top.key_end, self.end = True, event.end, event.end
        merges = event.kind is Kind.SCALAR and is_merge(event)
        top.is_merged = self.stack[-2].is_merged or merges
        if event.kind is Kind.ALIAS:
            top.step = self.key_texts.get(event.text, "")
        else:
            top.step = "<<" if merges else self.key_of(event)
            if event.anchor is not None:
                self.key_texts[event.anchor] = top.step
        if top.node is not None:
            top.node.last = event.start
            if not merges:
                top.node.keys.add(top.step)

    def _note_layout_of_root(self, event: Event) -> None:
        layout = self.outline.layout
        layout.is_quoted = event.style is Style.DOUBLE
        before = self.content[self.content.rfind("\n", 0, event.start) + 1 : event.start]
        layout.unit = before if layout.is_quoted and not before.strip(" \t") else ""

    def value(self, event: Event) -> None:
        top = self.stack[-1]
        wanted = None if top.wanted is None or top.is_merged else top.wanted.inside.get(top.step)
        if not top.is_mapping and top.node is not None:
            top.node.last = event.start
        node = None if wanted is None and event.kind is not Kind.ALIAS else self._node(event, top, wanted)
        anchor = None
        if event.anchor is not None:
            anchor = self.anchors[event.anchor] = Anchor(self._path(), top.is_merged, event.start, event.end)
            self.outline.anchors.append(anchor)
            if event.kind is Kind.SCALAR:
                self.key_texts[event.anchor] = event.text
        if event.kind is Kind.ALIAS and node is not None and event.text in self.anchors:
            self.anchors[event.text].aliases.append(node)
        if event.kind in (Kind.MAPPING, Kind.LIST):
            self._open(event, wanted, node, anchor)
        else:
            self.end = self._content_end(event, top)
            self._next()

    def _open(self, event: Event, wanted: Wanted | None, node: Node | None, anchor: Anchor | None) -> None:
        top = self.stack[-1]
        # A list that is not indented has no token of its own: `end` then follows its first dash.
        dash_passed = event.kind is Kind.LIST and event.style is Style.BLOCK and self.content[event.end] != "-"
        column = event.column - 1 if dash_passed else event.column
        if event.style is Style.BLOCK and top.is_mapping:
            layout = self.outline.layout
            if event.kind is Kind.MAPPING and layout.mapping is None:
                layout.mapping = column - top.column
            elif event.kind is Kind.LIST and layout.list is None:
                layout.list = column - top.column
        opened = _Open(event, column, wanted)
        opened.is_merged, opened.node, opened.anchor = top.is_merged, node, anchor
        if node is not None:
            node.opened, node.column = event.end, column
        self.stack.append(opened)

    def close(self, event: Event) -> None:
        opened = self.stack.pop()
        if opened.node is not None:
            opened.node.closed, opened.node.end = event.start, self.end
        if event.end > event.start:
            self.end = event.end
        if opened.anchor is not None:
            opened.anchor.end = self.end
        self._next()

    def _next(self) -> None:
        top = self.stack[-1]
        if top.is_mapping:
            top.pending = False
            top.is_merged = self.stack[-2].is_merged
        elif isinstance(top.step, int):
            top.step += 1

    def _path(self) -> Path:
        return tuple(one.step for one in self.stack[1:])

    def _node(self, event: Event, top: _Open, wanted: Wanted | None) -> Node:
        column = top.column if top.is_mapping and not top.is_flow else None
        place = Place(self._path(), len(self.stack), top.is_flow, column, top.key_end, top.is_merged)
        is_empty = event.end == event.start and event.kind is Kind.SCALAR
        start, end = (self._content_end(event, top),) * 2 if is_empty else (event.start, event.end)
        node = Node(place, event.kind, event.style, start, end, wanted)
        self.outline.nodes.append(node)
        return node

    def _content_end(self, event: Event, top: _Open) -> int:
        """Return the offset after a scalar: without empty lines that do not count, or after the colon."""
        if event.end == event.start and top.is_mapping:
            colon = _COLON.match(self.content, top.key_end)
            return top.key_end if colon is None else colon.end()
        end = event.end
        if event.style in (Style.LITERAL, Style.FOLDED):
            header = self.content.find("\n", event.start)
            if "+" not in self.content[event.start : header]:
                while self.content.endswith(("\n\n", "\n\r\n"), event.start, end):
                    end -= 1 if self.content[end - 2] == "\n" else 2
        return end
