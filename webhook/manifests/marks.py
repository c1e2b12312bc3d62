"""Where each value of a document stands in its text: one tree of marks, from the events of libyaml or tokens of JSON.

A document is read without marks, and most documents never need them. A tree grows as far as it is looked at.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from yaml import CBaseLoader, events

from webhook.manifests import scalars
from webhook.manifests.jsontext import TOKENS, string
from webhook.manifests.text import EXCERPT
from webhook.policy.verdict import Path

STEP = 1024
"""Events or tokens after which a growing tree is looked at again."""

QUOTES = ("'", '"')
BELOW = ("|", ">")
"""The styles of scalars whose text begins on the next line."""


class ScalarMark(NamedTuple):
    """A scalar with its anchor and tag. `style` is the first character of its text; empty for a plain one.

    `start` of a value that is missing is where libyaml expected it, and `end` follows the colon or the dash.
    """

    start: int
    end: int
    style: str


class CollectionMark:
    """A mapping or list: the marks of its own values, and those that merge keys bring in and no own value replaces.

    `start` is that of its anchor, tag or first character. `opened` follows the opening bracket, and `closed` is the
    offset of the closing one; without brackets, `opened` is the first entry. `column` is that of the entries in block
    style, from 0, and `last_key` the offset of the last key. `end` follows the last value.
    """

    __slots__ = ("closed", "column", "end", "inside", "is_anchored", "is_flow", "last_key", "merged", "opened", "start")

    def __init__(self, inside: Any, start: int, opened: int, column: int, is_flow: bool, is_anchored: bool) -> None:
        self.inside: Any = inside
        self.merged: dict[str, Mark] | None = None
        self.start = start
        self.opened = self.end = self.closed = opened
        self.column = column
        self.is_flow = is_flow
        self.is_anchored = is_anchored
        self.last_key: int | None = None

    def at(self, step: str | int) -> Mark | None:
        """Return the mark of the value at a key or an index; None where there is none."""
        own = self.own(step)
        merged: Any = self.merged
        return own if merged is None else merged.get(step, own)

    @property
    def last(self) -> int | None:
        """The offset of the last key or item; None without entries."""
        if isinstance(self.inside, list) and self.inside:
            return int(self.inside[-1].start)
        return self.last_key

    def own(self, step: str | int) -> Mark | None:
        """Return the mark of the value at a key or an index, unless only a merge key brings it in."""
        inside = self.inside
        if inside.__class__ is dict:
            return inside.get(step)
        return inside[step] if step.__class__ is int and 0 <= step < len(inside) else None


class Anchor(NamedTuple):
    """A value with an anchor. `place` holds the steps to it, the last one first; None below a merge key."""

    mark: ScalarMark | CollectionMark
    place: Steps | None

    @property
    def path(self) -> Path:
        """The path to the value."""
        steps: list[str | int] = []
        place = self.place
        while place:
            place, step = place
            steps.append(step)
        return tuple(reversed(steps))


class AliasMark(NamedTuple):
    """An alias. `column` is that of the keys of the block mapping that holds it; None in a list and in brackets."""

    start: int
    end: int
    anchor: Anchor
    in_flow: bool
    column: int | None
    depth: int


Mark: TypeAlias = ScalarMark | CollectionMark | AliasMark
Steps: TypeAlias = "tuple[Steps, str | int] | tuple[()]"


class Marks:
    """The tree of a document's marks.

    `aliases` are in the order of the text. `indents` holds the columns between a block mapping and the first block
    mapping, and the first block list, that is a value of it.
    """

    __slots__ = ("_growing", "_growth", "aliases", "content", "indents", "top")

    def __init__(self, content: str, start: int, *, is_json: bool, growing: _Growing | None = None) -> None:
        growing = growing or _Growing(content)  # does not know this object, which would be a cycle of references
        self.content = content
        self.top = growing.top
        self.aliases = growing.aliases
        self.indents = growing.indents
        self._growing = growing
        self._growth = _json(growing, start) if is_json else _yaml(growing)
        next(self._growth)

    def whole(self) -> Marks:
        """Return the tree after all its marks are found."""
        for _ in self._growth:
            pass
        return self

    def nearest(self, path: Path) -> Mark:
        """Return the mark of the value at a path, or of its nearest ancestor."""
        return self._find(path)[0]

    def only(self, path: Path) -> ScalarMark | None:
        """Return the mark of a scalar; None if anchors, aliases or merge keys may share its text."""
        mark, is_only = self._find(path)
        if not is_only or self._growing.has_merges or not isinstance(mark, ScalarMark):
            return None
        return None if self.content.startswith("&", mark.start) else mark

    def _find(self, path: Path) -> tuple[Mark, bool]:
        """Return the mark of the value at a path and whether its text is its own; or the nearest ancestor and False."""
        while True:
            mark: Mark = self.top.inside[0]
            is_only = True
            for step in path:
                if mark.__class__ is CollectionMark:
                    collection = mark
                elif mark.__class__ is AliasMark and isinstance(mark.anchor.mark, CollectionMark):
                    collection = mark.anchor.mark
                else:
                    return mark, False
                found = collection.at(step)
                if found is None:
                    break
                mark, is_only = found, is_only and not collection.is_anchored
            else:
                return mark, is_only
            if next(self._growth, self) is self:
                return mark, False

    def length(self, mark: Mark, value: object) -> int:
        """Return the characters of a scalar that stands on one line as it is; 0 for any other value, and a long one."""
        if not isinstance(mark, ScalarMark) or mark.end - mark.start > EXCERPT:
            return 0
        text = self.content[mark.start : mark.end]
        is_other = not mark.style and isinstance(value, str) and text != value
        return 0 if is_other or "\n" in text or text.startswith(_NOT_PLAIN) else len(text)


_NOT_PLAIN = ("&", "!", *BELOW)


def end_of(mark: ScalarMark | AliasMark, content: str) -> int:
    """Return the offset after the last character of a value, without blank lines that do not belong to it."""
    end = mark.end
    if isinstance(mark, ScalarMark) and mark.style in BELOW:
        header = content.find("\n", mark.start)
        if "+" not in content[mark.start : header]:
            while content.endswith(("\n\n", "\n\r\n"), mark.start, end):
                end -= 1 if content[end - 2] == "\n" else 2
    return end


def scalar_spans(content: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each scalar of YAML, keys included. A comment may follow `|`, before the text."""
    next_event: Any = CBaseLoader(content).get_event
    for event in iter(next_event, None):
        kind = event.__class__
        if kind is events.DocumentEndEvent:
            return
        if kind is events.ScalarEvent:
            start, end = event.start_mark.index, event.end_mark.index
            yield content.find("\n", start, end) if event.style in BELOW else start, end


_ITEM: Any = object()
_MERGE: Any = object()
"""Pending keys: of a list, and the merge key (`<<`)."""


class KeyMarks(Marks):
    """The tree with the offsets of the keys, which only errors about keys need."""

    __slots__ = ("_starts",)

    def __init__(self, content: str, start: int, *, is_json: bool) -> None:
        growing = _GrowingWithKeys(content)
        super().__init__(content, start, is_json=is_json, growing=growing)
        self._starts = growing.starts
        self.whole()

    def key(self, path: Path) -> int | None:
        """Return the offset of the last key of a path; None for an index, and for a key that a merge brings in."""
        holder = self.nearest(path[:-1])
        if isinstance(holder, AliasMark):
            holder = holder.anchor.mark
        return self._starts.get((holder, path[-1])) if path and isinstance(holder, CollectionMark) else None


class _Growing:
    """A tree while it grows: the open collection with its place and its pending key, and those around it.

    `latest` is the last scalar or alias, or where the last collection ended.
    """

    def __init__(self, content: str) -> None:
        self.content = content
        self.top = CollectionMark([], 0, 0, -1, False, False)  # an artificial list of the root alone
        self.aliases: list[AliasMark] = []
        self.indents: dict[type, int] = {}
        self.has_anchors = "&" in content
        self.has_merges = False
        self.anchors: dict[str, Anchor] = {}
        self.collection = self.top
        self.key: Any = _ITEM
        self.place: Steps | None = None
        self.stack: list[tuple[CollectionMark, Any, Steps | None]] = []
        self.latest: Any = None

    def put(self, mark: Mark) -> None:
        key, collection = self.key, self.collection
        if key is _ITEM:
            collection.inside.append(mark)
            return
        self.key = None
        if key is not _MERGE:
            collection.inside[key] = mark
            if collection.merged is not None:
                collection.merged.pop(key, None)

    def open(self, collection: CollectionMark) -> None:
        place = self.inner_place() if self.has_anchors else None
        self.stack.append((self.collection, self.key, self.place))
        self.place = place
        self.put(collection)
        self.collection = collection
        self.key = _ITEM if collection.inside.__class__ is list else None
        self.latest = None

    def close(self, closed: int, after: int) -> None:
        """End the open mapping or list: its closing bracket, if it has one, has these offsets."""
        collection, latest = self.collection, self.latest
        collection.closed = closed
        if latest is not None:
            collection.end = latest if latest.__class__ is int else end_of(latest, self.content)
        self.latest = after if after > closed else collection.end
        self.collection, key, self.place = self.stack.pop()
        if key is _MERGE:
            self.merge(collection)
        self.key = _ITEM if key is _ITEM else None

    def inner_place(self) -> Steps | None:
        """Return the place of the value that comes next."""
        if not self.stack:
            return ()
        if self.key is _MERGE or self.place is None:
            return None
        return self.place, len(self.collection.inside) if self.key is _ITEM else self.key

    def alias(self, name: str, start: int, end: int) -> None:
        """Add an alias, or merge the mapping that it stands for."""
        holder, key = self.collection, self.key
        column = None if key is _ITEM or holder.is_flow else holder.column
        self.latest = mark = AliasMark(start, end, self.anchors[name], holder.is_flow, column, len(self.stack))
        self.aliases.append(mark)
        self.put(mark)
        if key is _MERGE:
            self.merge(mark)

    def merge(self, mark: Mark) -> None:
        """Merge a mapping, or a list of mappings, of which earlier ones take precedence."""
        held = mark.anchor.mark if isinstance(mark, AliasMark) else mark
        if not isinstance(held, CollectionMark):
            return
        if isinstance(held.inside, list):
            for one in reversed(held.inside):
                self.merge(one)
            return
        self.has_merges = True
        merged = self.collection.merged = self.collection.merged or {}
        merged.update(held.inside)
        merged.update(held.merged or {})


class _GrowingWithKeys(_Growing):
    """A tree that remembers the offset of each key, by its mapping and itself."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self.starts: dict[tuple[CollectionMark, Any], int] = {}

    def put(self, mark: Mark) -> None:
        if self.key is not _ITEM and self.collection.last_key is not None:
            self.starts[self.collection, self.key] = self.collection.last_key
        super().put(mark)


def _yaml(growing: _Growing) -> Iterator[None]:
    """Grow the tree of a YAML document that can be read."""
    next_event: Any = CBaseLoader(growing.content).get_event
    named: dict[str, Any] = {}  # the scalars with an anchor, which may be keys
    # A merge key replaces what is before it, so that a document with one is looked at as a whole.
    step = sys.maxsize if "<<" in growing.content else STEP
    before: Any = None
    for number in count(1):
        event = next_event()
        kind = event.__class__
        if kind is events.ScalarEvent:
            start = event.start_mark.index
            if event.anchor is not None:
                named[event.anchor] = event
                mark = ScalarMark(start, event.end_mark.index, event.style)
                growing.anchors[event.anchor] = Anchor(mark, growing.inner_place())
            if growing.key is None:
                growing.key = _plain_key(event.value) if event.tag is None and event.implicit[0] else _key(event)
                growing.collection.last_key = start
            else:
                end = event.end_mark.index
                if start == end and growing.key is not _ITEM:
                    end = _end_of_colon(growing.content, before.end_mark.index)
                growing.latest = mark = ScalarMark(start, end, event.style)
                growing.put(mark)
        elif kind is events.MappingStartEvent:
            _add_collection(growing, event, {})
        elif kind is events.SequenceStartEvent:
            _add_collection(growing, event, [])
        elif kind is events.MappingEndEvent or kind is events.SequenceEndEvent:
            growing.close(event.start_mark.index, event.end_mark.index)
        elif kind is events.AliasEvent:
            _add_alias(growing, event, named)
        elif kind is events.DocumentEndEvent:
            break
        before = event
        if number % step == 0 and growing.stack:
            yield
    yield


def _end_of_colon(content: str, after_key: int) -> int:
    """The offset after the colon of a key without a value; that after the key if no colon follows."""
    colon = _COLON.match(content, after_key)
    return after_key if colon is None else colon.end()


def _key(event: Any) -> Any:
    """Return the key of JSON that a scalar of YAML means, or that it merges."""
    text, tag, is_plain = event.value, event.tag, event.implicit[0]
    if text == "<<" and (is_plain or tag == scalars.MERGE_TAG):
        return _MERGE
    return scalars.key(scalars.meaning(text, tag, is_plain=is_plain))


@lru_cache(maxsize=1024)
def _plain_key(text: str) -> Any:
    return _MERGE if text == "<<" else scalars.key(scalars.plain(text))


def _add_alias(growing: _Growing, event: Any, named: dict[str, Any]) -> None:
    start = event.start_mark.index
    if growing.key is None:
        growing.key, growing.collection.last_key = _key(named[event.anchor]), start
    else:
        growing.alias(event.anchor, start, event.end_mark.index)


_COLON = re.compile(r"\s*:")


def _add_collection(growing: _Growing, event: Any, inside: Any) -> None:
    end, is_flow = event.end_mark, event.flow_style
    opened, column = end.index, end.column
    if not is_flow:
        if inside.__class__ is list and growing.content[opened] != "-":
            column -= 1  # a list that is not indented has no token of its own: the event ends after its first dash
        if growing.key is not _ITEM:
            growing.indents.setdefault(inside.__class__, column - growing.collection.column)
    collection = CollectionMark(inside, event.start_mark.index, opened, column, is_flow, event.anchor is not None)
    if event.anchor is not None:
        growing.anchors[event.anchor] = Anchor(collection, growing.inner_place())
    growing.open(collection)


def _json(growing: _Growing, start: int) -> Iterator[None]:
    for number, token in enumerate(TOKENS.finditer(growing.content, start), 1):
        offset, word = token.start(), token[0]
        if word in "[{":
            growing.open(CollectionMark({} if word == "{" else [], offset, offset + 1, 0, True, False))
        elif word in "]}":
            growing.close(offset, offset + 1)
        elif growing.key is None and word != ",":
            growing.key = string(word)
            growing.collection.last_key = offset
        elif word != ",":
            growing.latest = mark = ScalarMark(offset, token.end(), '"' if word[0] == '"' else "")
            growing.put(mark)
        if not growing.stack:
            break
        if number % STEP == 0:
            yield
    yield
