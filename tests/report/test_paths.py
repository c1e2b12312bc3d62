"""Paths as messages write them, read again."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from webhook.diagnostics import dotted
from webhook.policy.verdict import Path

STEP = re.compile(r'\.?([A-Za-z0-9_-]{1,63})|\[([0-9]{1,6})\]|\["([^"]*)"\]')


def undotted(text: str) -> Path:
    """The path that `dotted` has written, as far as the text can be read."""
    path: list[str | int] = []
    place = 0
    while (step := STEP.match(text, place)) is not None:
        key, index, quoted = step.groups()
        path.append(int(index) if index is not None else quoted if key is None else key)
        place = step.end()
    return tuple(path)


KEYS = st.from_regex(r'[^"]{1,63}', fullmatch=True).filter(
    lambda key: key.isprintable() and "##" not in key and not key.lstrip().startswith("::")
)
"""Keys without what a CI system takes for a command, which a message defuses."""


@given(st.lists(KEYS | st.integers(0, 999_999), max_size=6))
def test_round_trip(path: list[str | int]) -> None:
    assert undotted(dotted(tuple(path))) == tuple(path)


def test_shortened_path_is_read_up_to_the_gap() -> None:
    assert undotted("spec.containers[0].resou…ia.com/gpu") == ("spec", "containers", 0, "resou")
    assert undotted("") == ()
