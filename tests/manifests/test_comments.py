"""Comments that ignore findings: which text is one, what it is about, and to which object it belongs."""

from __future__ import annotations

import pytest

from tests.manifests.reading import read
from webhook.manifests import Manifest

IGNORE = "# gpushare-webhook: ignore"


def objects(text: str) -> list[list[tuple[int, int, str]]]:
    """The line, the target and the text of the comments of each object."""
    manifests = [one for one in read("a.yaml", text.encode()) if isinstance(one, Manifest)]
    return [[(one.line, one.target, one.text) for one in manifest.comments] for manifest in manifests]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"a: 1 {IGNORE} GPS001\n", [(1, 1, "GPS001")]),
        (f"a: 1\t{IGNORE} GPS001\n", [(1, 1, "GPS001")]),
        (f"{IGNORE} GPS001\na: 1\n", [(1, 2, "GPS001")]),
        (f"{IGNORE} GPS001\n# another\n  # third\na: 1\n", [(1, 4, "GPS001")]),
        (f"{IGNORE} GPS001\n\na: 1\n", [(1, 0, "GPS001")]),
        (f"a: 1\n{IGNORE} GPS001\n", [(2, 0, "GPS001")]),
        ("a: 1 #gpushare-webhook:ignore GPS001,GPS002 - why\n", [(1, 1, "GPS001,GPS002 - why")]),
        (f"a: 1 {IGNORE}\n", [(1, 1, "")]),
        (f"a: |  {IGNORE} GPS001\n  {IGNORE} no\n  text {IGNORE} no\n\n", [(1, 1, "GPS001")]),
        (f"a: >-\n    {IGNORE} no\nb: 1 {IGNORE} yes\n", [(3, 3, "yes")]),
        (f"a: |\n  text\n{IGNORE} yes\nb: 1\n", [(3, 4, "yes")]),
        (f"a: 'text {IGNORE} no'\nb: \"text\n  {IGNORE} no\"\n", []),
        ("a: text#gpushare-webhook:ignore no\n", []),
        (f"a: text {IGNORE} yes\n", [(1, 1, "yes")]),
        (f"a: [1, {IGNORE} yes\n  2]\n", [(1, 1, "yes")]),
        ("a: 1 # gpushare-webhook: ignored\nb: 1 # other-webhook: ignore GPS001\n", []),
        (f"---\r\n{IGNORE} GPS001\r\na: 1\r\n", [(2, 3, "GPS001")]),
        (f"﻿{IGNORE} GPS001\na: 1\n", [(1, 2, "GPS001")]),
        (f"# é 🙂\na: 🙂 {IGNORE} é\n", [(2, 2, "é")]),
    ],
)
def test_comments_of_one_object(text: str, found: list[tuple[int, int, str]]) -> None:
    assert objects(text) == [found]


def test_comments_of_documents_and_items() -> None:
    text = (
        f"{IGNORE} one\na: 1\n---\n"
        f"{IGNORE} two\napiVersion: v1\nkind: List\nitems:\n"
        f"{IGNORE} three\n- a: 1 {IGNORE} four\n  b: 2\n"
        f"{IGNORE} five\n- a: 1\n  {IGNORE} six\n  b: 1\n- c: 1 {IGNORE} seven\n"
    )
    texts = [[comment for _, _, comment in found] for found in objects(text)]
    assert texts == [["one"], ["two", "three", "four"], ["five", "six"], ["seven"]]


@pytest.mark.parametrize("text", [f'{{"a": "{IGNORE} no"}}', f'{{"a": "{IGNORE} no"}}\n{{"b": "{IGNORE} no"}}'])
def test_json_has_no_comments(text: str) -> None:
    assert [found for held in objects(text) for found in held] == []


def test_flow_style_yaml_has_comments() -> None:
    assert objects(f"{{a: 1, {IGNORE} GPS001\n b: 2}}\n") == [[(1, 1, "GPS001")]]
