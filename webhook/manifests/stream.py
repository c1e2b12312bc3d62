"""Read the documents of a stream of bytes as kubectl does, or split it into sections of whole documents.

kubectl does not leave this to the YAML parser: `YAMLReader` in k8s.io/apimachinery `pkg/util/yaml` splits at every line
that begins with `---`, whatever the YAML around it means, and allows only a comment after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import basename
from typing import BinaryIO, NamedTuple

from webhook.diagnostics import Diagnostic
from webhook.manifests.compose import KUBECTL, KUSTOMIZATION, Dialect, compose
from webhook.manifests.files import LARGEST, TOO_LARGE, Source, bounded
from webhook.manifests.manifest import Document
from webhook.manifests.recognition import KUSTOMIZATION_FILES, template
from webhook.manifests.text import SourceText, UnreadableError, quoted

BOM = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
GZIP = b"\x1f\x8b"
_SEPARATOR = b"\n---"
_BLANKS = b" \t\r\n\v\f"
# In YAML a comment also ends at a carriage return and at a line break of Unicode.
_CONTENT = re.compile(rb"(?:^|\r|\xc2\x85|\xe2\x80[\xa8\xa9])[ \t]*[^\s#]", re.MULTILINE)
# A document without a match consists of blank lines and printable comments.
_TO_READ = re.compile(rb"^[ ]*+[^ #\n]|[^\n -~]", re.MULTILINE)


class Part(NamedTuple):
    """One document of a stream: its number, counted from 1, its first line, its bytes.

    `beside` is the text after the `---` above, unless it is a space and a comment; `first_line` is then that line.
    """

    number: int
    first_line: int
    data: bytes
    beside: str = ""


def normal(data: bytes) -> bytes:
    """Return a stream without byte order mark, with `\\n` after every line. kubectl also adds the last one."""
    data = data.removeprefix(BOM).replace(b"\r\n", b"\n")
    return data if data.endswith(b"\n") or not data else data + b"\n"


_ASCII = 8
"""Bytes of the first four characters in UTF-16. Those of a manifest are ASCII."""


def is_utf16(data: bytes) -> bool:
    """Return whether bytes are UTF-16: by their byte order mark, or by a zero in each of the first characters."""
    first, second = data[0:_ASCII:2], data[1:_ASCII:2]
    has_zeros = (all(first) and not any(second)) or (all(second) and not any(first))
    return data.startswith(UTF16) or (len(data) >= _ASCII and has_zeros)


def is_json(data: bytes) -> bool:
    """Return whether kubectl takes a stream that begins with these bytes for JSON."""
    return _without_blanks(data).startswith(b"{")


def _without_blanks(data: bytes) -> bytes:
    return data.removeprefix(BOM).lstrip(_BLANKS)


def parts(data: bytes, first_line: int = 1, number: int = 0) -> Iterator[Part]:
    """Yield the parts of a normal stream; `number` is that of the last document before the stream.

    Each `---` line begins a document, empty or not. Text above the first such line is a document unless it is comments.
    Empty documents are counted but not yielded.
    """
    start, line, beside = 0, first_line, ""
    end = _first(data)
    number += bool(_CONTENT.search(data, 0, end))
    while True:
        if beside:
            yield Part(number, line - 1, data[start:end], beside)
        elif start < end and _TO_READ.search(data, start, end):
            yield Part(number, line, data[start:end])
        if end == len(data):
            return
        number += 1
        line += data.count(b"\n", start, end) + 1
        start = data.index(b"\n", end) + 1
        beside = _beside(data[end + 3 : start]) if start - end > len(_SEPARATOR) else ""
        end = data.find(_SEPARATOR, start - 1) + 1 or len(data)


def _beside(text: bytes) -> str:
    """Return the text after the `---` of a line, unless it is a space and a comment."""
    stripped = text.strip()
    # kubectl takes `---#` for a separator after a document and for text at the start; to YAML it is always text.
    is_comment = stripped.startswith(b"#") and not text.startswith(b"#")
    return "" if is_comment else stripped.decode("utf-8", "replace")


def _first(data: bytes) -> int:
    """Return where the first `---` line begins; the end of the data without one."""
    return 0 if data.startswith(_SEPARATOR[1:]) else data.find(_SEPARATOR) + 1 or len(data)


BLOCK = 128 * 1024
"""Bytes that are read at once. A section has about as many, unless a document is larger."""


def in_sections(name: str, stream: BinaryIO, block: int = BLOCK) -> Iterator[Source | Diagnostic]:
    """Read a stream in sections of whole documents, at least one, so that memory depends on its largest document.

    Only a line that begins with `---` ends a document, whatever the YAML around it means. JSON, and bytes that are no
    text, are one section. Raises OSError or ValueError.
    """
    data = stream.read(block)
    while not _without_blanks(data) and len(data) <= LARGEST and (more := stream.read(block + len(data))):
        data += more
    if len(data) < block or is_json(data) or is_utf16(data) or data.startswith(GZIP):
        data += stream.read(max(0, LARGEST + 1 - len(data)))
        yield bounded(name, data)
        return
    pending = bytearray()
    line, number = 1, 0
    while data:
        searched = max(0, len(pending) - len(_SEPARATOR))
        pending += data
        if end := pending.rfind(_SEPARATOR, searched) + 1:
            whole = bytes(pending[:end])
            del pending[:end]
            yield Source(name, whole, first_line=line, number=number)
            number += _count(normal(whole) if line == 1 else whole)
            line += whole.count(b"\n")
        if len(pending) > LARGEST:
            yield Diagnostic(name, line, 1, f"a document {TOO_LARGE}")
            return
        data = stream.read(block)
    if pending or line == 1:
        yield Source(name, bytes(pending), first_line=line, number=number)


def _count(data: bytes) -> int:
    """Return the number of documents in bytes that end where a `---` line begins, as `parts` numbers them."""
    first = _first(data)
    return bool(_CONTENT.search(data, 0, first)) + (first < len(data)) + data.count(_SEPARATOR, first)


def documents(
    file: str, data: bytes, first_line: int = 1, number: int = 0, dialect: Dialect = KUBECTL
) -> Iterator[Document | Diagnostic]:
    """Yield the documents of one input as they stand, lists included. Empty documents are skipped but counted."""
    if is_utf16(data):
        yield Diagnostic(file, 1, 1, "UTF-16 text; save the file as UTF-8")
        return
    if data.startswith(GZIP):
        yield Diagnostic(file, 1, 1, "a compressed file; unpack it, or pipe `helm template` for a packaged chart")
        return
    text = normal(data)
    if dialect is KUBECTL and basename(file) in KUSTOMIZATION_FILES:
        dialect = KUSTOMIZATION
    for found in (
        _json_or_yaml(file, text, dialect) if is_json(data) else _yaml(file, text, first_line, 0, number, dialect)
    ):
        if isinstance(found, Document):
            found.raw = data
        yield found


def _json_or_yaml(file: str, data: bytes, dialect: Dialect) -> Iterator[Document | Diagnostic]:
    """Read JSON until it stops being JSON, then YAML unless two values were JSON: `YAMLOrJSONDecoder`.

    YAML allows everything that JSON allows, so where both fail the YAML parser knows the place.
    """
    from webhook.manifests import jsontext  # most inputs are YAML

    try:
        text = SourceText(data.decode())
    except UnicodeDecodeError:
        yield from _yaml(file, data, dialect=dialect)
        return
    read_to = number = 0
    try:
        for value, start, end, items in jsontext.values(text):
            read_to = end
            number += 1
            if isinstance(value, UnreadableError):
                yield Diagnostic(file, *text.position(value.offset), value.message)
            elif value is not None:
                yield Document(number, text, value, start, is_json=True, items=items)
    except jsontext.JsonSyntaxError as error:
        if number > 1:
            yield Diagnostic(file, *text.position(error.offset), error.message)
            return
        position = text.position(read_to)
        rest = text.content[read_to:].encode()
        yield from _yaml(file, rest, position.line, position.column - 1, number, dialect)


def _yaml(
    file: str, data: bytes, first_line: int = 1, indent: int = 0, number: int = 0, dialect: Dialect = KUBECTL
) -> Iterator[Document | Diagnostic]:
    for part in parts(data, first_line, number):
        found = _document(file, part, indent if part.first_line == first_line else 0, dialect)
        if found is not None:
            yield found


def _document(file: str, part: Part, indent: int, dialect: Dialect) -> Document | Diagnostic | None:
    """Read one part of a YAML stream; None where it is empty."""
    if part.beside:
        message = f'only a space and a comment may follow "---", not {quoted(part.beside)}'
        return Diagnostic(file, part.first_line, 1, message)
    try:
        text = SourceText(part.data.decode().removeprefix("\ufeff"), part.first_line, indent)
    except UnicodeDecodeError as error:
        before = SourceText(part.data[: error.start].decode(), part.first_line, indent)
        return Diagnostic(file, *before.position(len(before.content)), "not UTF-8 text")
    try:
        found = compose(text, dialect)
    except UnreadableError as error:
        unrendered = template(file, text, error.offset)
        return unrendered or Diagnostic(file, *text.position(error.offset), error.message)
    return None if found is None or found[0] is None else Document(part.number, text, *found)
