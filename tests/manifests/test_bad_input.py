"""Broken and hostile input: one diagnostic at the right position, and everything else is still read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from yaml import Mark, MarkedYAMLError, YAMLError

from tests.manifests.reading import read
from webhook.diagnostics import Diagnostic
from webhook.manifests import Manifest, Position
from webhook.manifests.compose import unreadable_yaml
from webhook.manifests.text import SourceText

DEEP = 100_000


def problems(data: bytes | str) -> list[tuple[int, int, str]]:
    found = read("f", data.encode() if isinstance(data, str) else data)
    return [(p.line, p.column, p.message) for p in found if isinstance(p, Diagnostic)]


HELM = "looks like an unrendered Helm template; pipe `helm template` and name -"
TEMPLATE = "looks like an unrendered template; render it first"


def merged_after(key: str, line: int) -> str:
    """The error for a merge key that comes after a key which it replaces for kubectl alone."""
    remedy = 'put "<<" first, or remove the key'
    return f'"<<" replaces the key "{key}" of line {line} for kubectl, but not for kustomize; {remedy}'


WRONG: dict[str, tuple[int, int, str]] = {
    "a: {{ .Values.b }}\n": (1, 4, HELM),
    "{{ if .Values.a }}\nb: 1\n{{ end }}\n": (1, 1, HELM),
    "a: 1\n{{- if .b }}\nc: 2\n": (2, 1, TEMPLATE),
    "a: {b}\nb: {[c]: 1}\n": (2, 5, "a mapping or a list cannot be a mapping key"),
    "a: [1,\n{{ b }}\nc: 3\n": (2, 1, TEMPLATE),
    "{% if a %}\nb: 1\n{% endif %}\n": (1, 1, TEMPLATE),
    "a:\n  %{ if b }\n  c: 1\n": (2, 3, TEMPLATE),
    "a:\n  b: 1\n  ${indent(2, c)}\n": (3, 3, TEMPLATE),
    "a: [${b}]\n": (1, 5, TEMPLATE),
    "{{/*\na: long\n\n\ncomment\n*/}}\nb: 1\n": (1, 1, HELM),
    # A placeholder that YAML reads as text does not explain an error below it.
    "a: |\n  {{ b }}\nc: 1\nd: @e\n": (4, 4, 'a value cannot start with "@"; put it in quotes'),
    "a: x{{ b }}\nc: @e\n": (2, 4, 'a value cannot start with "@"; put it in quotes'),
    "a: 1\n\tb: 2\n": (2, 1, "tab used for indentation; indent YAML with spaces"),
    "a:\n\t- 1\n": (2, 1, "tab used for indentation; indent YAML with spaces"),
    "a: 1\nb:\n  c: 1\n  c: 2\n": (4, 3, 'mapping key "c" is given twice, first on line 3'),
    "a: {b: 1, 'b': 2}\n": (1, 11, 'mapping key "b" is given twice, first on line 1'),
    "spec:\n  a: 1\nb: 2\nspec: 3\n": (4, 1, 'mapping key "spec" is given twice, first on line 1'),
    "1: a\ntrue: b\n0x1: c\n": (3, 1, 'mapping key "1" is given twice, first on line 1'),
    '{"a": 1,\n "b": {"c": 1,\n  "c": 2}}': (3, 3, 'mapping key "c" is given twice, first on line 2'),
    '{"a": 1, "\\u0061": 2}': (1, 10, 'mapping key "a" is given twice, first on line 1'),
    '# c\na: "b\nc: d\n': (2, 4, "the quote that opens here is never closed"),
    "a: 'b\n---\nc: d\n": (1, 4, "the quote that opens here is never closed"),
    "a: [1,\n  2\nb: 3\n": (3, 2, 'expected "," or "]" in the list that begins on line 1'),
    "a: {b: 1\n": (2, 1, 'expected "," or "}" in the mapping that begins on line 1'),
    "a: b: c\n": (1, 5, 'unexpected ":"; put text that holds ": " in quotes, or check the indentation'),
    "a: 1\n b: 2\n": (2, 3, 'unexpected ":"; put text that holds ": " in quotes, or check the indentation'),
    "a: 1\nb\n": (2, 1, 'expected ":" after the key that begins here'),
    "a:\n- 1\n b: 2\n": (3, 3, 'unexpected ":"; put text that holds ": " in quotes, or check the indentation'),
    "a: @b\n": (1, 4, 'a value cannot start with "@"; put it in quotes'),
    "a: `b`\n": (1, 4, 'a value cannot start with "`"; put it in quotes'),
    'a: "\\q"\n': (1, 5, "unknown escape in double quotes; use single quotes to keep a backslash"),
    "a: *b\n": (1, 4, 'alias "*b" has no anchor before it'),
    "a: &b\n  c: *b\n": (2, 6, 'alias "*b" is inside its own anchor'),
    "a:\n  - .inf\n": (2, 5, "infinity and not-a-number have no JSON form; put them in quotes to mean text"),
    "a: 1\n~: 2\n": (2, 1, "null cannot be a mapping key; put it in quotes to mean text"),
    "a:\n  [b]: 2\n": (2, 3, "a mapping or a list cannot be a mapping key"),
    "a: !!int x\n": (1, 4, "this is not what its tag !!int says"),
    "a: !!binary x\n": (1, 4, "this is not base64, as its tag !!binary says"),
    "a:\n  <<: 1\n": (2, 7, 'the value of the merge key "<<" must be a mapping, an alias of one, or a list of these'),
    "b: &x {k: 1}\na: {k: 2, <<: *x}\n": (2, 11, merged_after("k", 2)),
    "b: &x {k: 1}\na:\n  l: 0\n  'k': 2\n  <<: *x\n": (5, 3, merged_after("k", 4)),
    "a:\n  k: 2\n  <<:\n    k: 1\n": (3, 3, merged_after("k", 2)),
    "a:\n  k: {l: 2}\n  <<: {k: {l: 1}}\n": (3, 3, merged_after("k", 2)),
    "a: {k: 2, <<: [{l: 1}, {k: 1}]}\n": (1, 11, merged_after("k", 1)),
    "a: {k: 2, <<: {<<: {k: 1}}}\n": (1, 11, merged_after("k", 1)),
    "a: {k: 2, l: 3, !!merge '<<': {l: 1, k: 1}}\n": (1, 17, merged_after("k", 1)),
    "a: {k: 2, <<: {l: 1}, <<: {k: 1}}\n": (1, 23, merged_after("k", 1)),
    "a: b\x00c\n": (1, 5, "control character U+0000; YAML does not allow it"),
    "a: \ue000\x00c\n": (1, 5, "control character U+0000; YAML does not allow it"),
    "# c\n\n# \x1b\na: b\n": (3, 3, "control character U+001B; YAML does not allow it"),
    "a: 1\n--- {b: 2}\nc: 3\n": (2, 1, 'only a space and a comment may follow "---", not "{b: 2}"'),
    "a: 1\n...\n\nb: 2\n": (4, 1, "unexpected text after the end of the document"),
    "%YAML 1.2\n---\na: 1\n": (1, 1, "directives (%YAML, %TAG) cannot be read by kubectl; remove the line"),
    "a: 1\n\ufeffb: 2\n": (2, 1, "byte order mark inside the file; remove it"),
    "- a\n": (1, 1, "a document must be a mapping with apiVersion and kind, not a list"),
    "\n\nhello\n": (3, 1, "a document must be a mapping with apiVersion and kind, not text"),
    "items:\n- {}\n- 1\n": (3, 3, "item 1 of the list must be a mapping with apiVersion and kind, not a number"),
    "kind: List\nitems: {}\n": (2, 8, '"items" must be a list, not a mapping'),
    '{"a": 1e999x}': (1, 7, "this number exceeds the range of 64-bit floats"),
    '{"a": {"b": 1e400}}': (1, 13, "this number exceeds the range of 64-bit floats"),
    '{"a": 1}\n{"b": 2}\n{"c" 3}\n': (3, 6, "not JSON: expecting ':' delimiter"),
    '{"a": 1}\n{"b": 2}\n{"c": -Infinity}\n': (3, 7, "not JSON: -Infinity"),
    '{"a": 1,\n "b": }}': (2, 8, "unexpected text after the end of the document"),
    '{"a": "b\n': (1, 7, "the quote that opens here is never closed"),
}


@pytest.mark.parametrize(
    "text",
    [
        "a: {<<: {k: 1}, k: 2}\n",
        "a: {k: 2, <<: {l: 1}}\n",
        "a: {k: 2, <<: {k: 2}}\n",
        "a: {l: 2, <<: {k: 1}, k: 2}\n",
        "a: {<<: {k: 1}, <<: {k: 2}}\n",
        "a: {k: 2, <<: [{k: 2}, {k: 1}]}\n",
        "a: {k: 2, b: {<<: {k: 1}}}\n",
        "a: {k: 2, '<<': {k: 1}}\n",
        "a: {k: 2, <<: {}}\n",
    ],
)
def test_merge_that_replaces_no_key_before_it_is_no_error(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize("text", WRONG)
def test_message_and_position_of_each_error(text: str) -> None:
    line, column, message = WRONG[text]
    assert problems(text) == [(line, column, message)]


# What begins as JSON, or has documents of its own, means something else as the second document.
@pytest.mark.parametrize("text", [text for text in WRONG if not text.startswith("{") and "---" not in text])
def test_error_position_in_later_document(text: str) -> None:
    # A document that is wrong is as wrong between two that are right.
    line, column, _ = WRONG[text]
    found = list(read("f", f"first: 1\n---\n{text}---\nlast: 1\n".encode()))
    assert [(p.line, p.column) for p in found if isinstance(p, Diagnostic)] == [(line + 2, column)]
    assert {"first": 1} in [m.value for m in found if isinstance(m, Manifest)]
    assert {"last": 1} in [m.value for m in found if isinstance(m, Manifest)]


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"a: 1\nb: \xff\n", 2, 4, "not UTF-8 text"),
        (b"a: 1\n---\nb: \xc3\xa9\xff\n", 3, 5, "not UTF-8 text"),
        (b'{"a": "\xff"}', 1, 8, "not UTF-8 text"),
        (b"\xed\xa0\x80: 1\n", 1, 1, "not UTF-8 text"),
        ("a: 1\n".encode("utf-16"), 1, 1, "UTF-16 text; save the file as UTF-8"),
        ("a: 1\n".encode("utf-16-le"), 1, 1, "UTF-16 text; save the file as UTF-8"),
        ("a: 1\n".encode("utf-16-be"), 1, 1, "UTF-16 text; save the file as UTF-8"),
        (b"\xfe\xff" + "a: 1\n".encode("utf-16-be"), 1, 1, "UTF-16 text; save the file as UTF-8"),
    ],
)
def test_wrong_encoding(data: bytes, line: int, column: int, message: str) -> None:
    assert problems(data) == [(line, column, message)]


@pytest.mark.parametrize(
    ("error", "message", "offset"),
    [
        (MarkedYAMLError(None, None, "a new problem\x1b", Mark("", 3, 0, 3, "", 0)), "a new problem?", 3),
        (MarkedYAMLError(None, None, "a new problem", None), "a new problem", 0),
        (MarkedYAMLError(None, None, "x" * 1000, None), "x" * 100 + "…" + "x" * 99, 0),
        (MarkedYAMLError("while scanning"), "not YAML", 0),
        (YAMLError("no marks at all"), "not YAML", 0),
    ],
)
def test_unknown_libyaml_problem_keeps_its_wording(error: YAMLError, message: str, offset: int) -> None:
    unreadable = unreadable_yaml(error, SourceText("a: 1\n"))
    assert (unreadable.message, unreadable.offset) == (message, offset)


def test_messages_are_short_and_printable() -> None:
    key = "k" * 1000
    ((_, _, message),) = problems(f"{key}: 1\n{key}: 2\n")
    assert len(message) < 120
    ((_, _, message),) = problems('"\\e[31m": 1\n"\\e[31m": 2\n')
    assert message == 'mapping key "?[31m" is given twice, first on line 1'


def test_rejected_json_object_hides_no_other() -> None:
    deep = '{"a": ' * 300 + "1" + "}" * 300
    found = list(
        read("f", f'{{"kind": "A"}}\n{{"a": 1, "a": 2}}\n{deep}\n{{"a": 1e999}}\n{deep}\n{{"kind": "B"}}'.encode())
    )
    assert [m.document if isinstance(m, Manifest) else m.line for m in found] == [1, 2, 3, 4, 5, 6]
    assert [type(m) for m in found] == [Manifest, Diagnostic, Diagnostic, Diagnostic, Diagnostic, Manifest]


BOMBS = {
    "flow lists": "a: " + "[" * DEEP,
    "flow mappings": "{a: " * DEEP,
    "closed flow lists": "a: " + "[" * DEEP + "]" * DEEP,
    "block lists": "- " * DEEP + "a\n",
    "block mappings": "".join(" " * level + "a:\n" for level in range(3_000)),
    "explicit keys": "? " * DEEP + "a\n",
    "JSON lists": '{"a": ' + "[" * DEEP + "]" * DEEP + "}",
    "JSON objects": '{"a": ' * DEEP + "1" + "}" * DEEP,
    "JSON objects without an end": '{"a": ' * DEEP,
    "anchors": "a0: &a0 []\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 400)),
}
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {k0: 1}\n" + "".join(
    f"m{n}: &m{n} {{x: &x{n} [*{'a' if n == 1 else f'x{n - 1}'}, *{'a' if n == 1 else f'x{n - 1}'}]}}\n"
    for n in range(1, 60)
)

READER = """
import json, sys
from webhook.diagnostics import Diagnostic
from tests.manifests.reading import read
found = list(read("f", sys.stdin.buffer.read()))
print(json.dumps([[p.line, p.column, p.message] for p in found if isinstance(p, Diagnostic)]))
"""


def read_apart(text: str) -> list[Any]:
    """Read in an interpreter of its own, which a crash would end."""
    done = subprocess.run(
        [sys.executable, "-c", READER], input=text.encode(), capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", BOMBS)
def test_depth_bombs(name: str) -> None:
    (found,) = read_apart(BOMBS[name])
    if name == "explicit keys":
        assert found == [1, 3, "a mapping or a list cannot be a mapping key"]
    else:
        assert found[2] == "nested deeper than 256 levels"
        expected = {"block mappings": (257, 257), "anchors": (256, 14)}
        assert tuple(found[:2]) == expected.get(name, (1, found[1]))


@pytest.mark.parametrize("text", [LAUGHS, MERGES], ids=["billion laughs", "doubling"])
def test_alias_bombs(text: str) -> None:
    (found,) = read_apart(text)
    assert found[2] == "aliases expand to far more values than the document has"


def test_nesting_at_the_limit() -> None:
    for text in ("{a: " + "[" * 255 + "]" * 255 + "}", '{"a": ' + "[" * 255 + "]" * 255 + "}"):
        assert problems(text) == []
    for text in ("{a: " + "[" * 256 + "]" * 256 + "}", '{"a": ' + "[" * 256 + "]" * 256 + "}"):
        assert [message for _, _, message in problems(text)] == ["nested deeper than 256 levels"]


@pytest.mark.slow
def test_huge_document() -> None:
    text = "data:\n" + "".join(f"  key{n}: value {n}\n" for n in range(200_000))
    (manifest,) = read("f", text.encode())
    assert isinstance(manifest, Manifest)
    assert manifest.locate(("data", "key199999")) == Position(200_001, 14)


def test_number_of_thousands_of_digits() -> None:
    digits = "9" * 10_000
    (manifest,) = read("f", f"kind: A\nv: {digits}\n".encode())
    assert isinstance(manifest, Manifest)
    # Past the range of floats a number is text to go-yaml.
    assert manifest.value == {"kind": "A", "v": digits}
    assert problems(f'{{"v": {digits}}}') == [(1, 7, "this number exceeds the range of 64-bit floats")]


def test_import_loads_no_heavy_package() -> None:
    # The command line has a quarter of a second from cold.
    done = subprocess.run(
        [sys.executable, "-c", "import sys, webhook.manifests; print(*sys.modules)"],
        capture_output=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert {"asyncio", "pydantic", "ssl", "msgspec", "click"}.isdisjoint(done.stdout.decode().split())
