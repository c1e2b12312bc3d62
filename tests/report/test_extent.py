"""The length of a scalar in its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.manifests import Manifest, read
from webhook.report.data import json_text, yaml_text
from webhook.report.extent import extent


@pytest.mark.parametrize(
    ("text", "value", "length"),
    [
        ("2", 2, 1),
        ("22  # two", 22, 2),
        ("2, b: 3}", 2, 1),
        ("2}}", 2, 1),
        ("true", True, 4),
        ("null", None, 4),
        ("1.5\r", 1.5, 3),
        ('"2" # two', "2", 3),
        ('"a\\"b": 1', 'a"b', 6),
        ("'it''s'", "it's", 7),
        ("a b c", "a b c", 5),
        ("a b # c", "a b", 3),
        ("a b, c]", "a b", 3),
        ("a b", "a b c", 0),
        ("a bc", "a b", 0),
        ("|", "a\nb\n", 0),
        ('"cut', "cut off", 0),
        ("name: x", {"name": "x"}, 0),
        ("- 1", [1], 0),
        ("", None, 0),
        ("key:", None, 0),
        ("&a 2", 2, 0),
    ],
)
def test_length_of_scalar(text: str, value: object, length: int) -> None:
    assert extent(text, value) == length


SCALARS = st.text(max_size=12) | st.integers(-(10**9), 10**9) | st.booleans() | st.none() | st.floats(-1e6, 1e6)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), SCALARS, min_size=1, max_size=4), st.booleans())
def test_text_of_length_is_the_value(value: dict[str, Any], as_json: bool) -> None:
    data = (json_text(value) if as_json else yaml_text(value)).encode()
    (manifest,) = read("file", data)
    assert isinstance(manifest, Manifest)
    for key in value:
        text, first = manifest.excerpt((key,))
        start = manifest.locate((key,)).column - first
        length = extent(text[start:], manifest.at((key,)))
        if not length:
            assert not as_json
            continue
        scalar = text[start : start + length]
        (again,) = read("again", (f'{{"a": {scalar}}}' if as_json else f"a: {scalar}").encode())
        assert isinstance(again, Manifest)
        assert json.dumps(again.at(("a",))) == json.dumps(manifest.at((key,)))
