"""Paths as messages write them, read again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webhook.diagnostics import dotted, undotted

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
