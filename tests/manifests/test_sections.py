"""A stream is read in sections of whole documents: the same objects at the same places, in memory for one document."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.manifests.reading import read
from webhook.diagnostics import Diagnostic
from webhook.manifests import Manifest, Source, in_sections
from webhook.manifests.stream import BLOCK

PIECES = st.sampled_from(
    [b"kind: A\n", b"---\n", b"--- # c\n", b"---#\n", b"--- x\n", b"\n", b"# c\n", b" ", b"\t", b"\r\n",
     b"\xef\xbb\xbf", b"{", b"}", b"a:\n  b: 1\n", b'{"kind": "A"}\n', b"...\n", b"\xff\xfe", b"|\n", b"-", b"a: 1",
     b"\xc2\x85", b"\xff"]
)  # fmt: skip


class Pattern(io.RawIOBase):
    """A stream that repeats a text, without holding it."""

    def __init__(self, text: bytes, times: int) -> None:
        self._text = text
        self._left = len(text) * times
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        size = self._left if size < 0 else min(size, self._left)
        whole = self._text * (size // len(self._text) + 2)
        data = whole[self._at : self._at + size]
        self._at = (self._at + size) % len(self._text)
        self._left -= size
        return data


def sections(stream: Any, block: int = BLOCK) -> Iterator[Source]:
    for section in in_sections("f", stream, block):
        assert isinstance(section, Source)
        yield section


def places(found: Manifest | Diagnostic) -> tuple[Any, ...]:
    if isinstance(found, Diagnostic):
        return found.line, found.column, found.message
    return found.document, found.line, found.value, found.locate(("kind",))


@given(st.lists(PIECES, max_size=30).map(b"".join), st.integers(4, 60))
def test_sections_hold_the_same_documents_as_the_stream(data: bytes, block: int) -> None:
    parts = list(sections(io.BytesIO(data), block))
    assert b"".join(part.data for part in parts) == data
    whole = [places(one) for one in read("f", data)]
    assert [places(one) for part in parts for one in read("f", part.data, part.first_line, part.number)] == whole


def test_small_stream_is_one_section() -> None:
    assert len(list(sections(io.BytesIO(b"a: 1\n---\nb: 2\n")))) == 1
    assert len(list(sections(io.BytesIO(b"")))) == 1


def test_memory_does_not_grow_with_the_stream() -> None:
    document = b"---\nkind: A\nmetadata: {name: a}\n"
    tracemalloc.start()
    try:
        count = 0
        for section in sections(Pattern(document, 32 * BLOCK // len(document))):
            count += section.data.count(b"---\n")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 32 * BLOCK // len(document)
    assert peak < 6 * BLOCK


@pytest.mark.parametrize(
    ("text", "line"),
    [(b"---\na: |\n", 2 * (BLOCK // 9) - 1), (b'{"a":\n', 0), (b"\n", 1)],
    ids=["document", "JSON", "blank lines"],
)
def test_largest_document_is_bounded(text: bytes, line: int) -> None:
    class Growing(Pattern):
        """The text, then one document without an end."""

        def read(self, size: int = -1) -> bytes:
            data = super().read(size)
            return data + (b"  x\n" * (size // 4 + 1))[: size - len(data)]

    *_, refused = in_sections("f", Growing(text, BLOCK // len(text)))  # type: ignore[arg-type]
    assert isinstance(refused, Diagnostic)
    assert refused.line == line
