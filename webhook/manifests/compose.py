"""Compose the events of libyaml for one YAML document into plain values.

PyYAML's own composer recurses in C and crashes the interpreter at 50,000 levels; its event parser does not. Nothing
here recurses either, nesting is bounded, and the expansion of aliases is bounded as in go-yaml. Aliased values are
shared, not copied, so callers must not change a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from yaml import CBaseLoader, YAMLError, events
from yaml.reader import Reader, ReaderError

from webhook.manifests import scalars
from webhook.manifests.files import LARGEST
from webhook.manifests.text import (
    DEEPEST,
    TOO_DEEP,
    AliasMark,
    CollectionMark,
    Mark,
    Marks,
    ScalarMark,
    SourceText,
    UnreadableError,
    given_twice,
    quoted,
)
from webhook.policy.messages import printable

# Stand for the pending key: inside a list, and between a merge key (`<<`) and its value.
_ITEM: Any = object()
_MERGE: Any = object()

_NO_MERGE = 'the value of the merge key "<<" must be a mapping, an alias of one, or a list of these'
_MOVE = 'for kubectl, but not for kustomize; put "<<" first, or remove the key'
_NUMBERS: frozenset[Any] = frozenset((int, float))


class _Anchored(NamedTuple):
    """A scalar, or a finished mapping or list, with an anchor. `node` is the event of a scalar."""

    node: Any
    mark: ScalarMark | CollectionMark
    nodes: int
    levels: int
    characters: int


class Dialect(NamedTuple):
    """How a program reads YAML: the meaning of a plain scalar, and whether it takes the last of equal keys."""

    plain: Callable[[str], scalars.Scalar]
    takes_last: bool = False


KUBECTL = Dialect(scalars.plain)
KUSTOMIZATION = Dialect(scalars.plain, takes_last=True)
"""How kustomize reads a kustomization, as opposed to the objects that it builds."""

_OLD_BOOLEANS = frozenset(word for word, value in scalars.WORDS.items() if value in (True, False)) - frozenset(
    ("true", "True", "TRUE", "false", "False", "FALSE")
)
KUSTOMIZE = Dialect(lambda text: text if text in _OLD_BOOLEANS else scalars.plain(text))
"""How kustomize reads objects and patches: it puts words such as `on` in quotes, which kubectl takes for booleans."""


def compose(text: SourceText, dialect: Dialect = KUBECTL) -> tuple[object, int, Marks] | None:
    """Return the value of a document, its offset, and the marks of all its values; None where there is no document.

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
        event: Any = parser.peek_event()
        start = event.start_mark.index
        composer = _Composer(text, dialect)
        value = composer.run(parser)
        event = parser.get_event()
    except YAMLError as error:
        raise unreadable_yaml(error, text) from None
    if not isinstance(event, events.StreamEndEvent):
        message = 'kubectl ignores everything from here on; start a document with "---"'
        raise UnreadableError(message, event.start_mark.index)
    return value, start, composer.marks


class _Open:
    """A mapping or list under construction, with its mark, and what the composer had counted before it.

    `key` is the one whose value comes next.
    """

    __slots__ = ("anchor", "deepest", "key", "mark", "nodes", "unfolded_characters", "value")

    def __init__(self, value: Any, mark: CollectionMark, anchor: str | None, composer: _Composer) -> None:
        self.value = value
        self.mark = mark
        self.key: Any = _ITEM if value.__class__ is list else None
        self.anchor = anchor
        self.nodes = composer.nodes
        self.unfolded_characters = composer.unfolded_characters
        self.deepest = composer.deepest

    def put(self, value: Any, mark: Mark) -> None:
        """Add the next item, or the value of the pending key."""
        key = self.key
        if key is _ITEM:
            self.value.append(value)
            self.mark.inside.append(mark)
        else:
            self.value[key] = value
            self.mark.inside[key] = mark
            self.key = None
        self.mark.last = mark


class _Composer:
    def __init__(self, text: SourceText, dialect: Dialect) -> None:
        self.text = text
        self.dialect = dialect
        self.marks = Marks(text.content)
        # By anchor; a bare mapping or list is still under construction.
        self.anchors: dict[str, Any] = {}
        self.nodes = 0
        self.unfolded = 0
        self.unfolded_characters = 0
        self.deepest = 0
        self.stack: list[_Open] = []

    def run(self, parser: CBaseLoader) -> object:
        """Compose the document whose start was the last event, up to and including its end."""
        next_event: Any = parser.get_event
        plain = self.dialect.plain
        top = _Open([], self.marks.top, None, self)
        self.stack.append(top)
        offset = 0
        try:
            while True:
                event = next_event()
                offset = event.start_mark.index
                mark: Any = None
                if event.__class__ is events.AliasEvent:
                    target = self._target(event.anchor, offset)
                    mark = AliasMark(offset, target.mark)
                    self.marks.aliases.append(mark)
                    event = target.node
                kind = event.__class__
                if kind is not events.ScalarEvent:
                    if kind is events.DocumentEndEvent:
                        return top.value[0]
                    top = self._structure(event, offset, mark, top)
                    continue
                self.nodes += 1
                value: Any = event.value
                if event.tag is not None or event.anchor is not None:
                    value = self._marked(event)
                elif event.implicit[0]:
                    value = plain(value)
                key = top.key
                if key is None:
                    top.key = self._key(event, value, offset, top.mark.keys)
                    continue
                if value.__class__ in _NUMBERS:
                    value = scalars.json_number(value)
                if key is _MERGE:
                    raise UnreadableError(_NO_MERGE, offset)
                top.put(value, mark or ScalarMark(offset, event.end_mark.index, event.style))
        except ValueError as error:  # only `scalars` raises it
            raise UnreadableError(str(error), offset) from None

    def _structure(self, event: Any, offset: int, alias: AliasMark | None, top: _Open) -> _Open:
        """Process the start or end of a mapping or list, or the value that an alias names. Return what to fill next."""
        kind = event.__class__
        if kind is events.MappingEndEvent or kind is events.SequenceEndEvent:
            return self._finish(top, event)
        if top.key is None:
            raise UnreadableError("a mapping or a list cannot be a mapping key", offset)
        self.nodes += 1
        if alias is not None:
            if top.key is _MERGE:
                self._merge(top, [(event, alias)], offset)
            else:
                top.put(event, alias)
            return top
        depth = len(self.stack)
        if depth > DEEPEST:
            raise UnreadableError(TOO_DEEP, offset)
        value: Any = {} if kind is events.MappingStartEvent else []
        inner = _Open(value, self._collection(event, value.copy(), top), event.anchor, self)
        self.stack.append(inner)
        if event.anchor is not None:
            self.anchors[event.anchor] = value
            self.deepest = depth
        else:
            self.deepest = max(depth, self.deepest)
        return inner

    def _collection(self, event: Any, inside: Any, outer: _Open) -> CollectionMark:
        end = event.end_mark
        column = end.column
        if not event.flow_style:
            if inside.__class__ is list and self.text.content[end.index] != "-":
                column -= 1  # a list that is not indented has no token of its own: the event ends after its first dash
            if outer.key is not _ITEM:
                self.marks.indents.setdefault(inside.__class__, column - outer.mark.column)
        return CollectionMark(inside, event.start_mark.index, column, is_flow=event.flow_style)

    def _finish(self, inner: _Open, event: Any) -> _Open:
        self.stack.pop()
        mark = inner.mark
        if mark.is_flow:
            mark.end = event.end_mark.index
        if inner.anchor is not None:
            # A node inside may have taken over the anchor: then it keeps it, as in go-yaml.
            if self.anchors.get(inner.anchor) is inner.value:
                levels = self.deepest - len(self.stack) + 1
                unfolded = self.unfolded_characters - inner.unfolded_characters
                characters = event.start_mark.index - mark.start + unfolded
                anchored = _Anchored(inner.value, mark, self.nodes - inner.nodes + 1, levels, characters)
                self.anchors[inner.anchor] = anchored
            self.deepest = max(self.deepest, inner.deepest)
        outer = self.stack[-1]
        if outer.key is _MERGE:
            is_list = inner.value.__class__ is list
            merged = zip(inner.value, mark.inside, strict=True) if is_list else [(inner.value, mark)]
            self._merge(outer, list(merged), mark.start)
        else:
            outer.put(inner.value, mark)
        return outer

    def _target(self, anchor: str | None, offset: int) -> _Anchored:
        """Return the target of an alias, and count its expansion."""
        target = self.anchors.get(anchor or "")
        if target is None:
            raise UnreadableError(f"alias {quoted(f'*{anchor}')} has no anchor before it", offset)
        if not isinstance(target, _Anchored):
            raise UnreadableError(f"alias {quoted(f'*{anchor}')} is inside its own anchor", offset)
        reach = len(self.stack) - 1 + target.levels
        if reach > DEEPEST:
            raise UnreadableError(TOO_DEEP, offset)
        self.deepest = max(self.deepest, reach)
        self.nodes += target.nodes
        self.unfolded += target.nodes
        self.unfolded_characters += target.characters
        if self.unfolded_characters > min(LARGEST, _TEXT_SHARE * len(self.text.content)):
            raise UnreadableError("aliases expand to far more text than the document has", offset)
        # The share of a document's values that may come from aliases is go-yaml's `allowedAliasRatio`.
        share = max(0.10, min(0.99, 0.99 - 0.89 * (self.nodes - 400_000) / 3_600_000))
        if self.unfolded > 100 and self.nodes > 1000 and self.unfolded > self.nodes * share:
            raise UnreadableError("aliases expand to far more values than the document has", offset)
        return target

    def _marked(self, event: Any) -> Any:
        if event.anchor is not None:
            mark = ScalarMark(event.start_mark.index, event.end_mark.index, event.style)
            self.anchors[event.anchor] = _Anchored(event, mark, 1, 0, len(event.value))
        if event.tag is None and event.implicit[0]:
            return self.dialect.plain(event.value)
        return scalars.meaning(event.value, event.tag, is_plain=event.implicit[0])

    def _key(self, event: events.ScalarEvent, value: scalars.Scalar, offset: int, keys: dict[Any, int]) -> Any:
        """Return the new pending key, recorded among the keys of its mapping, or the merge marker."""
        if value.__class__ is not str:
            value = scalars.key(value)
        elif value == "<<" and (event.implicit[0] or event.tag == scalars.MERGE_TAG):
            keys[_MERGE] = offset
            return _MERGE
        name: Any = value
        if name in keys:
            if not self.dialect.takes_last:
                raise given_twice(name, self.text.position(keys[name]).line, offset)
            self.marks.repeated.append((name, offset))
        keys[name] = offset
        return name

    def _merge(self, outer: _Open, mappings: list[tuple[Any, Mark]], offset: int) -> None:
        """Merge mappings, of which earlier ones take precedence, into one whose keys do not have other values.

        A merge overrides the keys before it in go-yaml v2, which kubectl uses, and no keys in YAML and kustomize
        (sigs.k8s.io/kustomize/kyaml yaml/rnode.go, `mergeAll`).
        """
        merged: dict[str, Any] = {}
        marks: dict[str, Mark] = {}
        for mapping, mark in reversed(mappings):
            held: Any = mark.held if isinstance(mark, AliasMark) else mark
            if mapping.__class__ is not dict:
                raise UnreadableError(_NO_MERGE, offset)
            merged.update(mapping)
            marks.update(held.inside)
        value, keys = outer.value, outer.mark.keys
        differing = [name for name in merged.keys() & keys.keys() if merged[name] != value[name]]
        if differing:
            first = min(differing, key=keys.__getitem__)
            line = self.text.position(keys[first]).line
            raise UnreadableError(f'"<<" replaces the key {quoted(first)} of line {line} {_MOVE}', keys[_MERGE])
        value.update(merged)
        outer.mark.inside.update(marks | outer.mark.inside)
        outer.key = None


# go-yaml counts values only, so aliases of one long text could expand to any size. Its bound on values comes to a
# factor of one hundred; the absolute limit is that of an input.
_TEXT_SHARE = 100


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
        control = Reader.NON_PRINTABLE.search(text.content)
        if control is None:
            return UnreadableError("a character that YAML does not allow", 0)
        return UnreadableError(f"control character U+{ord(control[0]):04X}; YAML does not allow it", control.start())
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
