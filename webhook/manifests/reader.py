"""Read the documents of one input, and report those that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.diagnostics import Diagnostic
from webhook.manifests import blocks
from webhook.manifests.manifest import Document
from webhook.manifests.recognition import template
from webhook.manifests.stream import GZIP, Part, is_json, is_utf16, normal, parts
from webhook.manifests.text import SourceText, UnreadableError, quoted


def documents(file: str, data: bytes, first_line: int = 1, number: int = 0) -> Iterator[Document | Diagnostic]:
    """Yield the documents of one input as they stand, lists included. Empty documents are skipped but counted."""
    if is_utf16(data):
        yield Diagnostic(file, 1, 1, "UTF-16 text; save the file as UTF-8")
        return
    if data.startswith(GZIP):
        yield Diagnostic(file, 1, 1, "a compressed file; unpack it, or pipe `helm template` for a packaged chart")
        return
    text = normal(data)
    for found in _json_or_yaml(file, text) if is_json(data) else _yaml(file, text, first_line, number=number):
        if isinstance(found, Document):
            found.raw = data
        yield found


def _json_or_yaml(file: str, data: bytes) -> Iterator[Document | Diagnostic]:
    """Read JSON until it stops being JSON, then YAML unless two values were JSON: `YAMLOrJSONDecoder`.

    YAML allows everything that JSON allows, so where both fail the YAML parser knows the place.
    """
    from webhook.manifests import jsontext  # most inputs are YAML

    try:
        text = SourceText(data.decode())
    except UnicodeDecodeError:
        yield from _yaml(file, data)
        return
    read_to = number = 0
    try:
        for value, start, end in jsontext.values(text):
            read_to = end
            number += 1
            if isinstance(value, UnreadableError):
                yield Diagnostic(file, *text.position(value.offset), value.message)
            elif value is not None:
                yield Document(number, text, value, start, end)
    except jsontext.JsonSyntaxError as error:
        if number > 1:
            yield Diagnostic(file, *text.position(error.offset), error.message)
            return
        position = text.position(read_to)
        rest = text.content[read_to:].encode()
        yield from _yaml(file, rest, position.line, position.column - 1, number)


def _yaml(
    file: str, data: bytes, first_line: int = 1, indent: int = 0, number: int = 0
) -> Iterator[Document | Diagnostic]:
    for part in parts(data, first_line, number):
        found = _document(file, part, indent if part.first_line == first_line else 0)
        if found is not None:
            yield found


def _document(file: str, part: Part, indent: int) -> Document | Diagnostic | None:
    """Read one part of a YAML stream; None where it is empty."""
    if part.beside:
        message = f'only a space and a comment may follow "---", not {quoted(part.beside)}'
        return Diagnostic(file, part.first_line, 1, message)
    try:
        text = SourceText(part.data.decode().removeprefix("\ufeff"), part.first_line, indent)
    except UnicodeDecodeError as error:
        before = SourceText(part.data[: error.start].decode(), part.first_line, indent)
        return Diagnostic(file, *before.position(len(before.content)), "not UTF-8 text")
    found: tuple[object, int] | None = blocks.read(text.content)
    if found is None:
        from webhook.manifests.compose import compose  # most documents do not need libyaml

        try:
            found = compose(text)
        except UnreadableError as error:
            unrendered = template(file, text, error.offset)
            return unrendered or Diagnostic(file, *text.position(error.offset), error.message)
    return None if found is None or found[0] is None else Document(part.number, text, *found)
