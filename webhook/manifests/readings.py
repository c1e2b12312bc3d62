"""How an input that is named is read: at once, or in sections of whole documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeAlias

from webhook.diagnostics import Diagnostic
from webhook.manifests.files import LARGEST, Source, read_stream, reason_of
from webhook.manifests.sections import TooLargeError, sections

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
