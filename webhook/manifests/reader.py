"""All manifests of one input, and what of it could not be read."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests import jsontext
from webhook.manifests.compose import compose
from webhook.manifests.faults import quoted
from webhook.manifests.manifest import Document, Manifest
from webhook.manifests.position import Path, Position, Problem, Text, UnreadableError
from webhook.manifests.stream import Part, normal, parts

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BLANKS = b" \t\r\n\v\f"


class Fault:
    """What could not be read of an input, and where."""

    __slots__ = ("message", "position")

    def __init__(self, message: str, position: Position) -> None:
        self.message = message
        self.position = position


def read(file: str, data: bytes) -> Iterator[Manifest | Problem]:
    """Yield the objects of one input in order, and a Problem for each document that cannot be read.

    Empty documents are left out but counted. The items of a list become objects of their own.
    """
    for found in _documents(data):
        if isinstance(found, Document):
            yield from _manifests(file, found, (), found.value)
        else:
            yield Problem(file, found.position.line, found.position.column, found.message)


def has_documents(data: bytes) -> bool:
    """Whether an input holds more than blanks, comments and empty documents; a list without items is a document."""
    return any(True for _ in _documents(data))


def _manifests(file: str, document: Document, path: Path, value: object) -> Iterator[Manifest | Problem]:
    """Flatten lists: to kubectl every object with `items` is one (`UnstructuredJSONScheme` in k8s.io/apimachinery)."""
    if not isinstance(value, dict):
        what = f"item {path[-1]} of the list" if path else "a document"
        yield _problem(
            file, document, path, f"{what} must be a mapping with apiVersion and kind, not {_kind_of(value)}"
        )
        return
    if "items" not in value:
        yield Manifest(file, document, path, value)
        return
    items = value["items"]
    path = (*path, "items")
    if isinstance(items, list):
        for index, item in enumerate(items):
            yield from _manifests(file, document, (*path, index), _of_list(value, item))
    elif items is not None:
        yield _problem(file, document, path, f'"items" must be a list, not {_kind_of(items)}')


def _of_list(parent: dict[str, object], item: object) -> object:
    """Give an item without kind and apiVersion those that its list implies, as the API server leaves them out."""
    if not isinstance(item, dict) or _name(item, "kind") or _name(item, "apiVersion"):
        return item
    implied = {"apiVersion": _name(parent, "apiVersion"), "kind": _name(parent, "kind").removesuffix("List")}
    return {**item, **implied}


def _name(value: dict[str, object], key: str) -> str:
    name = value.get(key)
    return name if isinstance(name, str) else ""


def _problem(file: str, document: Document, path: Path, message: str) -> Problem:
    position = document.locate(path)
    return Problem(file, position.line, position.column, message)


def _kind_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
    return "a mapping"


def _documents(data: bytes) -> Iterator[Document | Fault]:
    if data.startswith(_UTF16):
        yield Fault("UTF-16 text; save the file as UTF-8", Position(1, 1))
        return
    data = normal(data)
    if data.lstrip(_BLANKS).startswith(b"{"):
        yield from _json_or_yaml(data)
    else:
        yield from _yaml(data)


def _json_or_yaml(data: bytes) -> Iterator[Document | Fault]:
    """Read JSON until it stops being JSON, then YAML unless two values were JSON: `YAMLOrJSONDecoder`.

    YAML allows all that JSON does, so where both fail it is YAML that says where.
    """
    try:
        text = Text(data.decode())
    except UnicodeDecodeError:
        yield from _yaml(data)
        return
    read_to = number = 0
    try:
        for value, start, end in jsontext.values(text):
            read_to = end
            number += 1
            if isinstance(value, UnreadableError):
                yield Fault(value.message, text.position(value.offset))
            elif value is not None:
                yield Document(number, text, value, start)
    except jsontext.JsonSyntaxError as error:
        if number > 1:
            yield Fault(error.message, text.position(error.offset))
            return
        position = text.position(read_to)
        yield from _yaml(text.content[read_to:].encode(), position.line, position.column - 1, number)


def _yaml(data: bytes, first_line: int = 1, indent: int = 0, number: int = 0) -> Iterator[Document | Fault]:
    for part in parts(data, first_line, number):
        found = _document(part, indent if part.first_line == first_line else 0)
        if found is not None:
            yield found


def _document(part: Part, indent: int) -> Document | Fault | None:
    """Read one part of a YAML stream; None where it is empty."""
    if part.beside:
        return Fault(
            f'only a space and a comment may follow "---", not {quoted(part.beside)}', Position(part.first_line, 1)
        )
    try:
        text = Text(part.data.decode().removeprefix("\ufeff"), part.first_line, indent)
    except UnicodeDecodeError as error:
        before = Text(part.data[: error.start].decode(), part.first_line, indent)
        return Fault("not UTF-8 text", before.position(len(before.content)))
    try:
        composed = compose(text)
    except UnreadableError as fault:
        return Fault(fault.message, text.position(fault.offset))
    if composed is None or composed[0] is None:
        return None
    value, spot = composed
    return Document(part.number, text, value, spot if isinstance(spot, int) else spot[0], spot)
