"""The CPU time of reading is linear in the size of the input, whatever its shape."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.linear import Work, assert_linear
from webhook.manifests import Manifest, read

pytestmark = pytest.mark.slow

_SMALLEST, _LARGEST = 10_000, 600_000

Shape = Callable[[int], str]


def repeated(part: str, before: str = "", after: str = "") -> Shape:
    """About n characters of a part, with something before and after them."""
    return lambda n: before + part * (n // len(part)) + after


def numbered(line: str, before: str = "", after: str = "") -> Shape:
    """About n characters of lines with their numbers."""
    return lambda n: before + "".join(line.format(index) for index in range(n // (len(line) + 3))) + after


SHAPES: dict[str, Shape] = {
    "one long plain text": repeated("x", "a: "),
    "one long line of words": repeated("x y ", "a: "),
    "long double quoted": repeated("\\n", 'a: "', '"\n'),
    "long single quoted": repeated("''", "a: '", "'\n"),
    "line breaks in quotes": repeated("\u2028", 'a: "', '"\n'),
    "literal block": repeated("  x\n", "a: |\n"),
    "folded block": repeated("  x\n\n   y\n", "a: >\n"),
    "blank lines in a literal": repeated("\n", "a: |\n", "  x\n"),
    "blank lines in a plain text": repeated("\n", "a: x\n", "  y\n"),
    "digits": repeated("1", "a: "),
    "digits that are no number": repeated("1", "a: 1.", "x"),
    "digits and underscores": repeated("1_", "a: ."),
    "underscores": repeated("_", "a: 1", "x"),
    "binary digits": repeated("1", "a: 0b"),
    "digits of a timestamp": repeated("1", "a: !!timestamp "),
    "base64": repeated("  AAAA\n", "a: !!binary |\n"),
    "keys": numbered("k{}: 1\n"),
    "keys in braces": numbered("k{}: 1, ", "{", "}"),
    "number keys": numbered("{}: 1\n"),
    "float keys": numbered("{}.5: 1\n"),
    "last key twice": numbered("k{}: 1\n", after="k0: 1\n"),
    "one long key": repeated("k", "? ", "\n: 1"),
    "comments": repeated("# c\n"),
    "comments inside": repeated("# c\n", "a:\n", "  b: 1\n"),
    "one long comment": repeated("c", "#", "\na: 1\n"),
    "spaces": repeated(" ", "a:", "1\n"),
    "list": repeated("- 1\n", "a:\n"),
    "list in brackets": repeated("1,", "a: [", "]"),
    "floats": repeated("1e5,", "a: [", "]"),
    "documents": repeated("---\na: 1\n"),
    "empty documents": repeated("---\n"),
    "text beside separators": repeated("--- x\n"),
    "one long text beside a separator": repeated("x", "--- "),
    "documents that cannot be read": repeated("---\na: [\n"),
    "documents with a key twice": repeated("---\na: 1\na: 2\n"),
    "nested up to the limit": repeated("---\na: " + "[" * 250 + "]" * 250 + "\n"),
    "mappings up to the limit": repeated("---\n" + "".join(" " * level + "a:\n" for level in range(250))),
    "nested too deeply": repeated("["),
    "dashes": repeated("- "),
    "question marks": repeated("? "),
    "colons": repeated(": ", "a"),
    "quote without an end": repeated("x\n", 'a: "'),
    "bracket without an end": repeated("x,\n", "a: ["),
    "lines without a colon": repeated("x\n"),
    "control character at the end": repeated("a: 1\n", after="\x01"),
    "byte order marks": repeated("\ufeff", after="a: 1\n"),
    "lines that end as on Windows": numbered("k{}: 1\r\n"),
    "carriage returns": repeated("a: 1\r"),
    "aliases": lambda n: f"a: &a {{x: 1}}\nown: [{'1, ' * (n // 7)}]\nb: [{'*a, ' * (n // 8)}]\n",
    "aliases of a long text": lambda n: f"a: &a {'x' * (n // 8)}\nown: [{'1, ' * 99}]\nb: [{'*a, ' * 99}]\n",
    "anchors": numbered("a{0}: &a{0} {{x: 1}}\n"),
    "merges": numbered("b{}: {{<<: *a, c: 1, d: [1, 2, 3]}}\n", "a: &a {x: 1, y: 2}\n"),
    "merges of a list": lambda n: f"a: &a {{x: 1}}\nown: [{'1, ' * (n // 7)}]\nb: {{<<: [{'*a, ' * (n // 8)}]}}\n",
    "tags": repeated("!!str x,", "a: [", "]"),
    "one long tag": repeated("x", "a: !", " b"),
    "one long anchor": repeated("x", "a: &", " b"),
    "directives": repeated("%TAG ! x\n"),
    "items": repeated("- {apiVersion: v1, kind: Pod}\n", "apiVersion: v1\nkind: List\nitems:\n"),
    "items that are no objects": repeated("- 1\n", "apiVersion: v1\nkind: List\nitems:\n"),
    "lists of lists": repeated("---\n" + "{items: [" * 100 + "]}" * 100 + "\n"),
    "JSON text": repeated("x", '{"a": "', '"}'),
    "JSON escapes": repeated("\\\\", '{"a": "', '"}'),
    "JSON halves of characters": repeated("\\ud800", '{"a": "', '"}'),
    "JSON keys": numbered('"k{}": 1,', "{", '"k": 1}'),
    "JSON key twice at the end": numbered('"k{}": 1,', "{", '"k0": 1}'),
    "JSON numbers": repeated("1.5,", '{"a": [', "1]}"),
    "JSON digits": repeated("1", '{"a": ', "}"),
    "JSON blanks": repeated(" \n", '{"a":', "1}"),
    "JSON documents": repeated('{"a": 1}\n'),
    "JSON scalars": repeated("1 ", "{}"),
    "JSON documents that are refused": repeated('{"a": 1, "a": 1e999}\n'),
    "JSON documents too deep": repeated('{"a":' + "[" * 300 + "]" * 300 + "} {}\n"),
    "JSON without an end": repeated('{"a":'),
    "JSON quotes": repeated('"" ', '{"a": '),
    "JSON quote without an end": repeated('\\"', '{"a": "'),
    "JSON that ends with YAML": numbered("k{}: 1\n", '{"a": 1}\n'),
    "JSON items": repeated('{"apiVersion": "v1", "kind": "Pod"},', '{"items": [', "{}]}"),
    "JSON items that are no objects": repeated("1,", '{"kind": "List", "apiVersion": "v1", "items": [', "1]}"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_reading_time_is_linear(name: str) -> None:
    def prepared(size: int) -> Work:
        data = SHAPES[name](size).encode()
        return lambda: look_up(data)

    assert_linear(prepared, _SMALLEST, _LARGEST)


def look_up(data: bytes) -> None:
    """Read an input, and look up positions in each of its objects."""
    for one in read("file.yaml", data):
        if isinstance(one, Manifest):
            assert one.line
            assert one.locate(("a",)).column


def test_quadratic_time_is_detected() -> None:
    with pytest.raises(AssertionError):
        assert_linear(lambda size: lambda: [None for _ in range(size) for _ in range(size)], 100, 10_000)
