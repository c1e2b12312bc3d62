"""YAML inside a text of an object: its value, and the positions of its values in the file."""

from __future__ import annotations

import json

import pytest

from webhook.diagnostics import Diagnostic
from webhook.manifests import Document, Manifest, Position, Source, objects
from webhook.manifests.embedded import LARGEST, embedded

HEAD = "apiVersion: v1\nkind: ConfigMap\ndata:\n"
PATH = ("data", "file")


def read(data: str) -> Document | Diagnostic | None:
    """What the text `file` of a ConfigMap holds."""
    (manifest,) = objects(Source("a.yaml", f"{HEAD}{data}".encode()))
    assert isinstance(manifest, Manifest)
    return embedded(manifest, PATH)


def positions(data: str) -> list[Position]:
    """The positions of the text as a whole, and of its value at `a.b`."""
    found = read(data)
    assert isinstance(found, Document)
    assert found.value == {"a": {"b": 1}}
    return [found.locate(()), found.locate(("a", "b"))]


@pytest.mark.parametrize("header", ["|", "|-", "|+", "|2", "&anchor |", "!!str |", "| # why"])
def test_values_of_literal_block_stand_on_their_own_lines(header: str) -> None:
    assert positions(f"  file: {header}\n    # why\n    a:\n      b: 1\n\n") == [Position(6, 5), Position(7, 10)]


def test_alias_leads_to_the_text_with_the_anchor() -> None:
    assert positions("  other: &x |\n    a: {b: 1}\n  file: *x\n") == [Position(5, 5), Position(5, 12)]


@pytest.mark.parametrize(
    "text",
    [
        '"a: {b: 1}"',
        "'a: {b: 1}'",
        ">\n    a: {b: 1}",
        '|\n    {"a":\n    {"b": 1}}',
        "|\n    a: {b: 1}\n    ---\n    c: 2",
        '"a: {b: 1}\\n---\\nc: 2"',
    ],
)
def test_values_of_other_texts_stand_where_the_text_begins(text: str) -> None:
    assert positions(f"  file: {text}\n") == [Position(4, 9), Position(4, 9)]


@pytest.mark.parametrize("escape", ["\\ud800", "\\/", "\\ud83d\\ude00"])
def test_escapes_that_only_json_has_are_read(escape: str) -> None:
    data = f'{{"apiVersion": "v1", "kind": "ConfigMap", "data": {{"file": "a: {{b: 1}} # {escape}"}}}}'
    (manifest,) = objects(Source("a.json", data.encode()))
    assert isinstance(manifest, Manifest)
    found = embedded(manifest, PATH)
    assert isinstance(found, Document)
    assert (found.value, found.locate(("a", "b"))) == ({"a": {"b": 1}}, Position(1, data.index('"a:') + 1))


def test_values_of_text_in_json_stand_where_the_text_begins() -> None:
    data = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"file": "a:\n  b: 1\n"}})
    (manifest,) = objects(Source("a.json", f"\n{data}".encode()))
    assert isinstance(manifest, Manifest)
    found = embedded(manifest, PATH)
    assert isinstance(found, Document)
    assert found.value == {"a": {"b": 1}}
    assert found.locate(("a", "b")) == Position(2, data.index('"a:') + 1)


def test_text_is_found_in_a_later_document_with_its_number() -> None:
    found = list(objects(Source("a.yaml", f"{HEAD}---\n{HEAD}  file: |\n    a: 1\n".encode())))
    assert isinstance(found[1], Manifest)
    inner = embedded(found[1], PATH)
    assert isinstance(inner, Document)
    assert (inner.number, inner.locate(("a",))) == (2, Position(9, 8))


@pytest.mark.parametrize("data", ["  other: a\n", "  file: 1\n", "  file: {a: 1}\n", "  file: |\n    # a\n"])
def test_value_without_a_document_holds_none(data: str) -> None:
    assert read(data) is None


def test_text_beyond_the_bound_is_not_read() -> None:
    fitting = "a" * (LARGEST - 1)
    assert isinstance(read(f"  file: |-\n    {fitting}a\n"), Document)
    assert read(f"  file: |-\n    {fitting}aa\n") is None


@pytest.mark.parametrize(
    ("data", "place"), [("  file: |\n    a: 1\n    b: [\n    c: 2\n", (8, 1)), ('  file: "a: 1\\nb: ["\n', (4, 9))]
)
def test_error_stands_on_its_line_in_a_block(data: str, place: tuple[int, int]) -> None:
    found = read(data)
    assert isinstance(found, Diagnostic)
    assert (found.file, found.line, found.column) == ("a.yaml", *place)


def test_comments_of_a_block_are_those_of_its_lines() -> None:
    found = read("  file: |\n    a: 1\n    # gpushare-webhook: ignore GPS031 - why\n    b: 1\n")
    assert isinstance(found, Document)
    assert [(one.line, one.target, one.text) for one in found.comments] == [(6, 7, "GPS031 - why")]
