"""The structure of a text as a stream of events, alike for YAML and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

from yaml import CSafeLoader
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from webhook.manifests import scalars
from webhook.manifests.jsontext import TOKENS, string


class Kind(Enum):
    """What an event says."""

    MAPPING = "mapping"
    LIST = "list"
    END = "end"
    SCALAR = "scalar"
    ALIAS = "alias"


class Style(Enum):
    """How the text writes a value."""

    BLOCK = "block"
    FLOW = "flow"
    PLAIN = "plain"
    SINGLE = "'"
    DOUBLE = '"'
    LITERAL = "|"
    FOLDED = ">"


class Event(NamedTuple):
    """One event and its place, as offsets of characters.

    `end` follows the value. At the start of a collection in brackets it follows the bracket; at that of another
    collection it is the place of the first key or dash, or follows a dash that is not indented. `column` is that of
    `end`, from 0. `text` is a scalar, without the escapes of JSON resolved, or the anchor that an alias names.
    """

    kind: Kind
    start: int
    end: int
    column: int
    style: Style
    text: str = ""
    anchor: str | None = None
    tag: str | None = None


_KINDS: dict[type, Kind] = {
    MappingStartEvent: Kind.MAPPING,
    SequenceStartEvent: Kind.LIST,
    MappingEndEvent: Kind.END,
    SequenceEndEvent: Kind.END,
    ScalarEvent: Kind.SCALAR,
    AliasEvent: Kind.ALIAS,
}
_SCALARS = {style.value: style for style in Style}


def yaml_events(content: str) -> Iterator[Event]:
    """Yield the events of a document that the reader of manifests accepts."""
    parser = CSafeLoader(content)
    while (event := parser.get_event()) is not None:
        kind = _KINDS.get(event.__class__)
        if kind is not None:
            yield _event(kind, event)


def _event(kind: Kind, event: Any) -> Event:
    end = event.end_mark
    anchor = getattr(event, "anchor", None)
    place = (kind, event.start_mark.index, end.index, end.column)
    if kind is Kind.SCALAR:
        return Event(*place, _SCALARS.get(event.style, Style.PLAIN), event.value, anchor, event.tag)
    if kind is Kind.ALIAS:
        return Event(*place, Style.PLAIN, str(anchor))
    return Event(*place, Style.FLOW if getattr(event, "flow_style", False) else Style.BLOCK, anchor=anchor)


def json_events(content: str, start: int) -> Iterator[Event]:
    """Yield the events of the JSON value at an offset."""
    depth = 0
    for token in TOKENS.finditer(content, start):
        word = token[0]
        if word == ",":
            continue
        if word in "]}":
            depth -= 1
            yield Event(Kind.END, token.start(), token.end(), 0, Style.FLOW)
        elif word in "[{":
            depth += 1
            kind = Kind.MAPPING if word == "{" else Kind.LIST
            yield Event(kind, token.start(), token.end(), 0, Style.FLOW)
        else:
            style = Style.DOUBLE if word[0] == '"' else Style.PLAIN
            yield Event(Kind.SCALAR, token.start(), token.end(), 0, style, word)
        if not depth:
            return


def yaml_key(event: Event) -> str:
    """Return the key that a scalar of YAML means as a key of JSON."""
    if event.tag is not None:
        return scalars.key(scalars.tagged(event.tag, event.text))
    return scalars.key(scalars.plain(event.text)) if event.style is Style.PLAIN else event.text


def json_key(event: Event) -> str:
    """Return the key that a string of JSON means."""
    return string(event.text)


def is_merge(event: Event) -> bool:
    """Return whether a key of YAML is the merge key."""
    return event.text == "<<" and (event.style is Style.PLAIN or event.tag == scalars.MERGE_TAG)
