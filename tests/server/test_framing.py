"""Where requests end, whatever segments their bytes arrive in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.client import request
from webhook.server.http.framing import Framing

KEPT = 64 * 1024


def feed(framing: Framing, data: bytes, cuts: list[int]) -> None:
    """Feed bytes in segments."""
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for begin, end in pairwise(edges):
        framing.feed(data[begin:end])


def requests(sizes: list[int]) -> Iterator[bytes]:
    """Requests with bodies of these sizes, full of what looks like the end of a header."""
    for size in sizes:
        yield request("POST", "/mutate", (b"\r\n\r\n" * size)[:size])


@given(st.lists(st.integers(0, 300), min_size=1, max_size=5), st.lists(st.integers(1, 2000)), st.booleans())
def test_pipelined_requests_are_separated(sizes: list[int], cuts: list[int], spaced: bool) -> None:
    framing = Framing()
    feed(framing, (b"\r\n" if spaced else b"").join(requests(sizes)), cuts)
    for size in sizes:
        assert framing.has_header
        framing.begin(size)
        assert not framing.is_lost
    assert not framing.has_bytes


@given(st.integers(0, 300), st.data())
def test_started_header_behind_a_request_is_seen(size: int, data: st.DataObject) -> None:
    (whole,) = requests([size])
    framing = Framing()
    framing.feed(whole)
    framing.begin(size)
    started = whole[: data.draw(st.integers(1, whole.index(b"\r\n\r\n") + 3))]
    feed(framing, started, data.draw(st.lists(st.integers(1, len(started)))))
    assert framing.has_bytes
    assert not framing.has_header


@given(st.lists(st.integers(1, 500_000), max_size=4))
def test_large_body_is_no_next_request(cuts: list[int]) -> None:
    (whole,) = requests([400_000])
    framing, begun = Framing(), False
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(whole)], strict=True):
        framing.feed(whole[begin:end])
        if framing.has_header and not begun:
            framing.begin(400_000)
            begun = True
    assert not framing.has_bytes
    assert not framing.is_lost


@pytest.mark.parametrize("ends", [b"\r\n", b"\n", b"\r\n" * 5])
def test_line_ends_before_a_request_are_no_header(ends: bytes) -> None:
    framing = Framing()
    framing.feed(ends)
    states = [framing.has_bytes]
    framing.feed(ends + b"POST")
    states.append(framing.has_bytes)
    assert states == [False, True]
    assert not framing.has_header


def test_unknown_length_is_lost() -> None:
    framing = Framing()
    framing.feed(request("POST", "/mutate"))
    framing.begin(None)
    assert framing.is_lost


def test_too_many_bytes_behind_a_request_are_lost() -> None:
    first, second = requests([10, KEPT])
    framing = Framing()
    framing.feed(first + second)
    framing.begin(10)
    assert framing.is_lost
    assert not framing.has_bytes
