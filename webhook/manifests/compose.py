"""Compose the events of libyaml for one YAML document into plain values.

PyYAML's own composer recurses in C and crashes the interpreter at 50,000 levels; its event parser does not. Nothing
here recurses either, nesting is bounded, and the expansion of aliases is bounded as in go-yaml. Aliased values are
shared, not copied, so callers must not change a value."""

from __future__ import annotations

from typing import Any, NamedTuple

from yaml import CBaseLoader, YAMLError, events
from yaml.reader import Reader, ReaderError

from webhook.manifests import scalars
from webhook.manifests.text import DEEPEST, TOO_DEEP, SourceText, UnreadableError, given_twice, quoted
from webhook.policy.messages import printable

# Stand for the pending key: inside a list, and between a merge key (`<<`) and its value.
_ITEM: Any = object()
_MERGE: Any = object()

_NO_MERGE = 'the value of the merge key "<<" must be a mapping, an alias of one, or a list of these'
_NUMBERS: frozenset[Any] = frozenset((int, float))


class _Anchored(NamedTuple):
    """A finished mapping or list with an anchor."""

    value: Any
    nodes: int
    levels: int
    characters: int


def compose(text: SourceText) -> tuple[object, int] | None:
    """Return the value of a document and its offset, or None where the text has no document.

    Raises UnreadableError at the offset of text that kubectl would reject or silently drop.
    """
    inside = text.content.find("\n\ufeff")
    if inside >= 0:
        # libyaml treats it as blank, go-yaml as text: for kubectl it would begin a key.
        raise UnreadableError("byte order mark inside the file; remove it", inside + 1)
    parser = CBaseLoader(text.content)
    try:
        parser.get_event()
        if isinstance(parser.get_event(), events.StreamEndEvent):
            return None
        start = _offset(parser.peek_event())
        value = _Composer(text).run(parser)
        after: Any = parser.get_event()
    except YAMLError as error:
        raise unreadable_yaml(error, text) from None
    if not isinstance(after, events.StreamEndEvent):
        raise UnreadableError('kubectl ignores everything from here on; start a document with "---"', _offset(after))
    return value, start


def _offset(event: Any) -> int:
    return int(event.start_mark.index)


class _Open:
    """A mapping or list under construction, and what the composer had counted before it.

    `key` is the one whose value comes next, and `keys` holds the offsets of all.
    """

    __slots__ = ("anchor", "deepest", "key", "keys", "nodes", "offset", "unfolded_characters", "value")

    def __init__(self, value: Any, offset: int, anchor: str | None, composer: _Composer) -> None:
        self.value = value
        self.keys: dict[str, int] = {}
        self.key: Any = _ITEM if value.__class__ is list else None
        self.offset = offset
        self.anchor = anchor
        self.nodes = composer.nodes
        self.unfolded_characters = composer.unfolded_characters
        self.deepest = composer.deepest


class _Composer:
    __slots__ = ("anchors", "deepest", "nodes", "stack", "text", "unfolded", "unfolded_characters")

    def __init__(self, text: SourceText) -> None:
        self.text = text
        # By anchor: a scalar's event, a finished container, or a bare container that is still under construction.
        self.anchors: dict[str, Any] = {}
        self.nodes = 0
        self.unfolded = 0
        self.unfolded_characters = 0
        self.deepest = 0
        self.stack: list[_Open] = []

    def run(self, parser: CBaseLoader) -> object:
        """Compose the document whose start was the last event, up to and including its end."""
        next_event: Any = parser.get_event
        plain = scalars.plain
        top = _Open([], 0, None, self)  # The root is the only item of an artificial list.
        self.stack.append(top)
        offset = 0
        try:
            while True:
                event = next_event()
                offset = event.start_mark.index
                if event.__class__ is events.AliasEvent:
                    event = self._target(event.anchor, offset)
                if event.__class__ is not events.ScalarEvent:
                    if event.__class__ is events.DocumentEndEvent:
                        return top.value[0]
                    top = self._structure(event, offset, top)
                    continue
                self.nodes += 1
                value: Any = event.value
                if event.tag is not None or event.anchor is not None:
                    value = self._marked(event)
                elif event.implicit[0]:
                    value = plain(value)
                key = top.key
                if key is None:
                    top.key = self._key(event, value, offset, top.keys)
                    continue
                if value.__class__ in _NUMBERS:
                    value = scalars.json_number(value)
                if key is _ITEM:
                    top.value.append(value)
                elif key is _MERGE:
                    raise UnreadableError(_NO_MERGE, offset)
                else:
                    top.value[key] = value
                    top.key = None
        except ValueError as error:  # only `scalars` raises it
            raise UnreadableError(str(error), offset) from None

    def _structure(self, event: Any, offset: int, top: _Open) -> _Open:
        """Process the start or end of a mapping or list, or an alias of one. Return what to fill next."""
        kind = event.__class__
        if kind is events.MappingEndEvent or kind is events.SequenceEndEvent:
            return self._finish(top, offset)
        key, is_alias = top.key, kind is _Anchored
        if key is None:
            raise UnreadableError("a mapping or a list cannot be a mapping key", offset)
        self.nodes += 1
        if is_alias and key is _MERGE:
            _merge(top.value, event.value, offset)
            top.key = None
            return top
        value: Any = event.value if is_alias else {} if kind is events.MappingStartEvent else []
        if key is _ITEM:
            top.value.append(value)
        elif key is not _MERGE:
            top.value[key] = value
        if not is_alias:
            return self._descend(_Open(value, offset, event.anchor, self))
        if key is not _ITEM:
            top.key = None
        return top

    def _descend(self, inner: _Open) -> _Open:
        depth = len(self.stack)
        if depth > DEEPEST:
            raise UnreadableError(TOO_DEEP, inner.offset)
        self.stack.append(inner)
        if inner.anchor is not None:
            self.anchors[inner.anchor] = inner.value
            self.deepest = depth
        elif depth > self.deepest:
            self.deepest = depth
        return inner

    def _finish(self, inner: _Open, end: int) -> _Open:
        self.stack.pop()
        if inner.anchor is not None:
            # A node inside may have taken over the anchor: then it keeps it, as in go-yaml.
            if self.anchors.get(inner.anchor) is inner.value:
                levels = self.deepest - len(self.stack) + 1
                characters = end - inner.offset + self.unfolded_characters - inner.unfolded_characters
                self.anchors[inner.anchor] = _Anchored(inner.value, self.nodes - inner.nodes + 1, levels, characters)
            self.deepest = max(self.deepest, inner.deepest)
        outer = self.stack[-1]
        if outer.key is _MERGE:
            # Earlier mappings of a list take precedence.
            for value in reversed(inner.value) if inner.value.__class__ is list else (inner.value,):
                _merge(outer.value, value, inner.offset)
        if outer.key is not _ITEM:
            outer.key = None
        return outer

    def _target(self, anchor: str | None, offset: int) -> Any:
        """Return the target of an alias, a scalar's event or a finished container, and count its expansion."""
        target = self.anchors.get(anchor or "")
        if target is None:
            raise UnreadableError(f"alias {quoted(f'*{anchor}')} has no anchor before it", offset)
        if target.__class__ is events.ScalarEvent:
            nodes, characters = 1, len(target.value)
        elif target.__class__ is _Anchored:
            nodes, characters = target.nodes, target.characters
            reach = len(self.stack) - 1 + target.levels
            if reach > DEEPEST:
                raise UnreadableError(TOO_DEEP, offset)
            self.deepest = max(self.deepest, reach)
        else:
            raise UnreadableError(f"alias {quoted(f'*{anchor}')} is inside its own anchor", offset)
        self.nodes += nodes
        self.unfolded += nodes
        self.unfolded_characters += characters
        if self.unfolded_characters > min(_MOST_TEXT, _TEXT_SHARE * len(self.text.content)):
            raise UnreadableError("aliases expand to far more text than the document has", offset)
        if self.unfolded > 100 and self.nodes > 1000 and self.unfolded > self.nodes * _unfolding_share(self.nodes):
            raise UnreadableError("aliases expand to far more values than the document has", offset)
        return target

    def _marked(self, event: events.ScalarEvent) -> Any:
        if event.anchor is not None:
            self.anchors[event.anchor] = event
        return scalars.meaning(event.value, event.tag, is_plain=event.implicit[0])

    def _key(self, event: events.ScalarEvent, value: scalars.Scalar, offset: int, keys: dict[str, int]) -> Any:
        """Return the new pending key, recorded among the keys of its mapping, or the merge marker."""
        if value.__class__ is not str:
            value = scalars.key(value)
        elif value == "<<" and (event.implicit[0] or event.tag == scalars.MERGE_TAG):
            return _MERGE
        name: Any = value
        if name in keys:
            raise given_twice(name, self.text.position(keys[name]).line, offset)
        keys[name] = offset
        return name


def _merge(mapping: dict[str, Any], merged: Any, offset: int) -> None:
    """Merge a mapping into another, overriding earlier keys, as go-yaml v2 does."""
    if merged.__class__ is not dict:
        raise UnreadableError(_NO_MERGE, offset)
    mapping.update(merged)


# go-yaml counts values only, so aliases of one long text could expand to any size. Its bound on values comes to a
# factor of one hundred; the absolute limit is that of an input.
_TEXT_SHARE = 100
_MOST_TEXT = 64 * 1024 * 1024


def _unfolding_share(nodes: int) -> float:
    """Return the share of a document's values that may come from aliases: go-yaml's `allowedAliasRatio`."""
    return max(0.10, min(0.99, 0.99 - 0.89 * (nodes - 400_000) / 3_600_000))


_LONGEST_PROBLEM = 200

_TAB = "tab used for indentation; indent YAML with spaces"

# Problems of libyaml and their meaning for the author. {line} is the line where the unreadable construct begins.
# Another version of libyaml may word them differently: its own words are shown then.
_PROBLEMS = {
    "mapping values are not allowed in this context": 'unexpected ":"; put text that holds ": " in quotes, '
    "or check the indentation",
    "could not find expected ':'": 'expected ":" after the key that begins here',
    "did not find expected key": "expected a key of the mapping that begins on line {line}; "
    "check indentation and quotes",
    "did not find expected '-' indicator": 'expected "- ", as in the list that begins on line {line}; '
    "check the indentation",
    "did not find expected ',' or ']'": 'expected "," or "]" in the list that begins on line {line}',
    "did not find expected ',' or '}'": 'expected "," or "}" in the mapping that begins on line {line}',
    "did not find expected node content": "expected a value here",
    "did not find expected <document start>": "unexpected text after the end of the document",
    "found unexpected end of stream": "the quote that opens here is never closed",
    "found unexpected document indicator": "the quote that opens here is not closed before the document ends",
    "block sequence entries are not allowed in this context": '"- " cannot stand here; check the indentation',
    "block mapping entries are not allowed in this context": "a key cannot stand here; check the indentation",
    "mapping keys are not allowed in this context": "a key cannot stand here; check the indentation",
    "found unknown escape character": "unknown escape in double quotes; use single quotes to keep a backslash",
    "found invalid Unicode character escape code": "this escape is not a character",
    "found undefined tag handle": "the tag uses a handle that is not defined",
    "found a tab character that violates indentation": _TAB,
    "found a tab character where an indentation space is expected": _TAB,
}
# libyaml marks where it noticed these; the author needs the place where the construct begins.
_AT_BEGIN = frozenset(
    ("could not find expected ':'", "found unexpected end of stream", "found unexpected document indicator")
)


def unreadable_yaml(error: YAMLError, text: SourceText) -> UnreadableError:
    """Return the error for a problem of libyaml."""
    if isinstance(error, ReaderError):
        return _unreadable_character(text)
    problem: str = getattr(error, "problem", None) or "not YAML"
    mark: Any = getattr(error, "problem_mark", None)
    begin: Any = getattr(error, "context_mark", None)
    offset = mark.index if mark is not None else 0
    if problem in _AT_BEGIN and begin is not None:
        offset = begin.index
    if problem == "did not find expected <document start>" and text.content.lstrip().startswith("%"):
        return UnreadableError("directives (%YAML, %TAG) cannot be read by kubectl; remove the line", 0)
    if problem == "found character that cannot start any token":
        character = text.content[offset : offset + 1]
        instead = f"a value cannot start with {quoted(character)}; put it in quotes"
        return UnreadableError(_TAB if character == "\t" else instead, offset)
    line = text.position(begin.index if begin is not None else offset).line
    message = _PROBLEMS.get(problem) or printable(problem, _LONGEST_PROBLEM)
    return UnreadableError(message.replace("{line}", str(line)), offset)


def _unreadable_character(text: SourceText) -> UnreadableError:
    """Return the error for the first character that libyaml rejects: libyaml's own offset counts bytes."""
    found = Reader.NON_PRINTABLE.search(text.content)
    if found is None:
        return UnreadableError("a character that YAML does not allow", 0)
    return UnreadableError(f"control character U+{ord(found[0]):04X}; YAML does not allow it", found.start())
