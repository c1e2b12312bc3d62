"""What aiohttp gets: one request at a time, whatever segments the bytes arrive in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.client import request
from webhook.server.http.framing import Framing

KEPT = 64 * 1024
LONGEST_HEADER = 32 * 1024
ILLEGAL = b"\0"
END = b"\r\n\r\n"

cuts = st.lists(st.integers(1, 3000))


def requests(sizes: list[int]) -> list[bytes]:
    """Requests with bodies of these sizes, full of what looks like the end of a header."""
    return [request("POST", "/mutate", (END * size)[:size]) for size in sizes]


def segments(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    return (data[begin:end] for begin, end in pairwise(edges))


def length_of(header: bytes) -> int:
    return int(header.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])


class Parser:
    """Does what aiohttp and the handler do with what they get, at times of the test's choosing."""

    def __init__(self) -> None:
        self.framing = Framing()
        self.got: list[bytes] = []
        self._is_answered = True

    def feed(self, data: bytes) -> None:
        self._take(self.framing.feed(data))

    def begin(self) -> None:
        if self.framing.has_header:
            self._is_answered = False
            self._take(self.framing.begin(length_of(self.got[-1])))

    def answer(self) -> None:
        if not self._is_answered:
            self._is_answered = True
            self._take(self.framing.finish())

    def _take(self, data: bytes) -> None:
        """What starts with a header is the next request; what is before it belongs to the one before."""
        body, found, header = data.partition(b"POST ")
        if body:
            self.got[-1] += body
        if found:
            self.got.append(found + header)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=5), cuts, st.booleans(), st.data())
def test_requests_are_passed_on_one_by_one(
    sizes: list[int], cuts: list[int], spaced: bool, data: st.DataObject
) -> None:
    """No byte of a request is passed on before the one ahead of it is answered."""
    whole, parser = requests(sizes), Parser()
    for segment in segments((b"\r\n" if spaced else b"").join(whole), cuts):
        parser.feed(segment)
        for step in data.draw(st.lists(st.sampled_from([parser.begin, parser.answer]), max_size=3)):
            step()
            assert is_start(parser.got, whole)
    for _ in whole:
        parser.begin()
        parser.answer()
    assert parser.got == whole
    assert not parser.framing.is_lost
    assert not parser.framing.has_bytes


def is_start(got: list[bytes], whole: list[bytes]) -> bool:
    """Whether what has been passed on is the start of the requests, all but the last one complete."""
    last = len(got) - 1
    return not got or (got[:last] == whole[:last] and whole[last].startswith(got[last]))


@given(st.integers(0, 300), cuts, st.data())
def test_started_header_behind_a_request_is_seen(size: int, cuts: list[int], data: st.DataObject) -> None:
    (whole,) = requests([size])
    framing = Framing()
    framing.feed(whole)
    framing.begin(size)
    started = whole[: data.draw(st.integers(1, whole.index(END) + 3))]
    assert [framing.feed(part) for part in segments(started, cuts)] == [b""] * len(list(segments(started, cuts)))
    assert framing.finish() == b""
    assert framing.has_bytes
    assert not framing.has_header


@given(st.lists(st.integers(1, 500_000), max_size=4))
def test_large_body_is_passed_on(cuts: list[int]) -> None:
    (whole,) = requests([400_000])
    parser = Parser()
    for segment in segments(whole, cuts):
        parser.feed(segment)
        parser.begin()
    assert parser.got == [whole]
    assert not parser.framing.has_bytes
    assert not parser.framing.is_lost


@pytest.mark.parametrize("ends", [b"\r\n", b"\n", b"\r\n" * 5])
def test_line_ends_before_a_request_are_no_header(ends: bytes) -> None:
    framing = Framing()
    framing.feed(ends)
    states = [framing.has_bytes]
    framing.feed(ends + b"POST")
    states.append(framing.has_bytes)
    assert states == [False, True]
    assert not framing.has_header


@pytest.mark.parametrize("size", [1, 100, 8000])
def test_header_that_is_too_long_is_cut_and_made_illegal(size: int) -> None:
    framing, header = Framing(), b"x" * (LONGEST_HEADER + 100)
    passed = [framing.feed(header[start : start + size]) for start in range(0, len(header), size)]
    assert b"".join(passed) == header[:LONGEST_HEADER] + ILLEGAL
    assert framing.has_header


@pytest.mark.parametrize("begins", [b"\x16\x03\x01\x02", b"\0", b"{", b" POST / HTTP/1.1"])
def test_bytes_that_begin_no_request_are_made_illegal_at_once(begins: bytes) -> None:
    framing = Framing()
    assert framing.feed(b"\r\n" + begins) == begins + ILLEGAL
    assert framing.has_header


@pytest.mark.parametrize("length", [LONGEST_HEADER - 1, LONGEST_HEADER])
def test_longest_header_is_passed_on(length: int) -> None:
    header = b"x" * (length - len(END)) + END
    assert Framing().feed(header + b"body") == header


def test_body_of_unknown_length_is_passed_on_and_is_the_last() -> None:
    framing = Framing()
    framing.feed(request("POST", "/mutate") + b"start")
    framing.feed(b" and more")
    assert framing.begin(None) == b"start and more"
    assert framing.is_lost
    assert framing.feed(b"rest") == b"rest"
    assert framing.finish() == b""
    framing.end()
    assert framing.feed(b"behind") == b""


@pytest.mark.parametrize("begins_first", [True, False])
def test_too_many_bytes_behind_a_request_end_it(begins_first: bool) -> None:
    first, second = requests([10, KEPT])
    framing = Framing()
    framing.feed(first)
    if begins_first:
        framing.begin(10)
    framing.feed(second)
    if not begins_first:
        framing.begin(10)
    assert framing.is_lost
    assert framing.finish() == b""
    assert not framing.has_bytes
