"""Inputs near those of a corpus: parts cut out, doubled, or replaced by words of the format and by any bytes."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from tests.fuzz.targets import Route

_LONGEST_PART = 40


@cache
def mutated(target: Route) -> st.SearchStrategy[bytes]:
    """Inputs for a target."""
    part = st.sampled_from(target.words) | st.binary(max_size=8)
    edit = st.tuples(st.floats(0, 1), st.integers(0, _LONGEST_PART), st.integers(0, 3), part)
    return st.builds(_edited, st.sampled_from(target.inputs()), st.lists(edit, max_size=12))


def _edited(data: bytes, edits: list[tuple[float, int, int, bytes]]) -> bytes:
    """Cut the bytes at a place out, put them in again some times, with something new beside them."""
    for where, length, times, new in edits:
        start = int(where * len(data))
        end = start + length
        data = data[:start] + data[start:end] * times + new + data[end:]
    return data
