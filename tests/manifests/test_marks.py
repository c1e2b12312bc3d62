"""The source line of a value."""

from __future__ import annotations

import pytest

from tests.manifests.reading import read
from webhook.manifests import Manifest


def manifest_of(text: str) -> Manifest:
    (found,) = read("file", text.encode())
    assert isinstance(found, Manifest)
    return found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 2  # two\n", "a: 2  # two"),
        ("b: 1\na: 2\nc: 3\n", "a: 2"),
        ("a: {b: 2}\n", ""),
        ("a: [1]\n", ""),
        (f"{{b: {'x' * 100}, a: 2}}\n", f"…{'x' * 55}, a: 2}}"),
        (f"a: {'x' * 300}\n", f"a: {'x' * 200}"),
    ],
)
def test_line_of_a_value(text: str, line: str) -> None:
    assert manifest_of(text).in_text(("a",))[1] == line
