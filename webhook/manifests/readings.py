"""How an input that is named is read: at once, or in sections of whole documents.

With sections, memory depends on the largest document, and not on the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple, TypeAlias

from webhook.diagnostics import Diagnostic
from webhook.manifests.files import LARGEST, Source, read_stream, reason_of
from webhook.manifests.stream import count, is_blank, is_yaml

Reading: TypeAlias = Callable[[str, BinaryIO], Iterator[Source | Diagnostic]]
"""Reads the stream of an input that has a name."""


def whole(name: str, stream: BinaryIO) -> Iterator[Source | Diagnostic]:
    """Read a stream at once."""
    data = read_stream(name, stream)
    yield data if isinstance(data, Diagnostic) else Source(name, data)


def in_sections(name: str, stream: BinaryIO) -> Iterator[Source | Diagnostic]:
    """Read a stream in sections, so that memory depends on its largest document."""
    try:
        for section in sections(stream):
            yield Source(name, section.data, first_line=section.first_line, number=section.number)
    except TooLargeError as error:
        what = "a document larger" if error.line else "larger"
        yield Diagnostic(name, error.line, min(error.line, 1), f"{what} than {LARGEST // 1024**2} MiB")
    except (OSError, ValueError) as error:
        yield Diagnostic(name, 0, 0, reason_of(error))


BLOCK = 128 * 1024
"""Bytes that are read at once. A section has about as many, unless a document is larger."""

_SEPARATOR = b"\n---"


class Section(NamedTuple):
    """Documents of a stream that follow each other: their bytes, their first line, the number of documents before."""

    data: bytes
    first_line: int = 1
    number: int = 0


class TooLargeError(Exception):
    """A document is too large. `line` is its first line; 0 if the whole input counts as one."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def sections(stream: BinaryIO, block: int = BLOCK) -> Iterator[Section]:
    """Yield the sections of a stream, at least one. Raises TooLargeError, OSError and ValueError.

    Only a line that begins with `---` ends a document, whatever the YAML around it means: see `stream`. JSON, and what
    is no text, is one section.
    """
    data = stream.read(block)
    while is_blank(data) and len(data) <= LARGEST and (more := stream.read(block + len(data))):
        data += more
    if len(data) < block or not is_yaml(data):
        yield Section(_whole(data, stream))
        return
    pending = bytearray()
    line, number = 1, 0
    while data:
        searched = max(0, len(pending) - len(_SEPARATOR))
        pending += data
        if end := pending.rfind(_SEPARATOR, searched) + 1:
            whole = bytes(pending[:end])
            del pending[:end]
            yield Section(whole, line, number)
            number += count(whole, is_start=line == 1)
            line += whole.count(b"\n")
        if len(pending) > LARGEST:
            raise TooLargeError(line)
        data = stream.read(block)
    if pending or line == 1:
        yield Section(bytes(pending), line, number)


def _whole(data: bytes, stream: BinaryIO) -> bytes:
    data += stream.read(max(0, LARGEST + 1 - len(data)))
    if len(data) > LARGEST:
        raise TooLargeError(0)
    return data
