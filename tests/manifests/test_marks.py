"""The marks of scalars: where they end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.manifests.reading import read
from webhook.manifests import Manifest
from webhook.report.data import json_text, yaml_text


def manifest_of(text: str) -> Manifest:
    (found,) = read("file", text.encode())
    assert isinstance(found, Manifest)
    return found


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("2", 1),
        ("22  # two", 2),
        ("{b: 2, c: 3}", 0),
        ("true", 4),
        ("null", 4),
        ("1.5\r", 3),
        ('"2" # two', 3),
        ('"a\\"b"', 6),
        ("'it''s'", 7),
        ("a b c", 5),
        ("a b # c", 3),
        ("a\n  b", 0),
        ("'a\n  b'", 0),
        ("|\n  a\n  b", 0),
        ("'" + "x" * 198 + "'", 200),
        ("'" + "x" * 199 + "'", 0),
        ("[1]", 0),
        ("", 0),
        ("&a 2", 0),
        ("!!int 2", 0),
        ("a\u2028  b", 0),
    ],
)
def test_length_of_scalar(text: str, length: int) -> None:
    assert manifest_of(f"a: {text}\n").in_text(("a",))[2] == length
    if "\n" not in text and "\r" not in text and "#" not in text and text:
        assert manifest_of(f"{{a: [{text}, 1]}}\n").in_text(("a", 0))[2] == length


def test_length_of_alias_and_of_missing_value() -> None:
    manifest = manifest_of("a: &a 1\nb: *a\nc: {d: 1}\n")
    assert [manifest.in_text((key,))[2] for key in "abc"] == [0, 0, 0]
    assert manifest.in_text(("c", "missing"))[2] == 0


SCALARS = st.text(max_size=12) | st.integers(-(10**9), 10**9) | st.booleans() | st.none() | st.floats(-1e6, 1e6)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), SCALARS, min_size=1, max_size=4), st.booleans())
def test_text_of_length_is_the_value(value: dict[str, Any], as_json: bool) -> None:
    data = (json_text(value) if as_json else yaml_text(value)).encode()
    (manifest,) = read("file", data)
    assert isinstance(manifest, Manifest)
    for key in value:
        position, (text, first), length = manifest.in_text((key,))
        start = position.column - first
        if not length:
            assert not as_json
            continue
        scalar = text[start : start + length]
        (again,) = read("again", (f'{{"a": {scalar}}}' if as_json else f"a: {scalar}").encode())
        assert isinstance(again, Manifest)
        assert json.dumps(again.at(("a",))) == json.dumps(manifest.at((key,)))
