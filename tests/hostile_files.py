"""Files that consist of one kind of element: what a hostile author of manifests makes as large as wanted."""

from __future__ import annotations

from collections.abc import Callable

Shape = Callable[[int], str]


def repeated(part: str, before: str = "", after: str = "") -> Shape:
    """About n characters of a part, with something before and after them."""
    return lambda n: before + part * (n // len(part)) + after


def numbered(line: str, before: str = "", after: str = "") -> Shape:
    """About n characters of lines with their numbers."""
    return lambda n: before + "".join(line.format(index) for index in range(n // (len(line) + 3))) + after


TEXTS: dict[str, Shape] = {
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
    "one long comment": repeated("c", "#", "\na: 1\n"),
    "spaces": repeated(" ", "a:", "1\n"),
    "list": repeated("- 1\n", "a:\n"),
    "list in brackets": repeated("1,", "a: [", "]"),
    "floats": repeated("1e5,", "a: [", "]"),
    "documents": repeated("---\na: 1\n"),
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
"""Texts of each construct of YAML and JSON."""

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
DENIED = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: c
    resources:
      limits: {nvidia.com/gpu: 2}
"""
"""A pod with findings, whose lines are looked up."""

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: pod-{}
  labels: {{app: train}}
spec:
  containers:
  - name: main
    image: registry.example/train:1.2.3
    command: ["python", "train.py"]
    resources:
      limits: {{nvidia.com/gpu: 1, memory: 4Gi}}
---
"""
_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
_CUSTOM = "apiVersion: example.com/v1\nkind: Train\nmetadata: {name: a}\nspec:\n"
_CONTAINER = "  - {{name: c{}, resources: {{limits: {{nvidia.com/gpu: 2}}}}}}\n"
_TEMPLATE = "  t{}: {{spec: {{containers: [{{resources: {{limits: {{nvidia.com/gpu: 2}}}}}}]}}}}\n"
_LIST = "apiVersion: v1\nkind: List\nitems:\n"
_JSON_LIST = '{"apiVersion": "v1", "kind": "List", "items": ['
_DATA = OBJECT + "data:\n"

HONEST = numbered(POD)
"""Small pods, to compare with."""


def between(line: str) -> Shape:
    """Objects with lines between them."""
    return lambda n: f"{DENIED}---\n{line * (n // 2 // len(line))}{DENIED}---\n{line * (n // 2 // len(line))}{DENIED}"


BLANKS: dict[str, Shape] = {
    "blank lines before an object": repeated("\n", after=DENIED),
    "blank lines after an object": repeated("\n", DENIED),
    "blank lines between objects": between("\n"),
    "blank lines inside an object": repeated("\n", DENIED + "data:\n", "  a: b\n"),
    "lines of spaces before an object": repeated("   \n", after=DENIED),
    "lines of spaces after an object": repeated("   \n", DENIED),
    "lines of tabs after an object": repeated("\t\n", DENIED),
    "lines that end as on Windows before an object": repeated("\r\n", after=DENIED),
    "carriage returns before an object": repeated("\r", after=DENIED),
    "line breaks of Unicode before an object": repeated("\x85", after="\n" + DENIED),
    "comments before an object": repeated("#\n", after=DENIED),
    "comments between objects": between("# c\n"),
    "comments after an object": repeated("#\n", DENIED),
    "comments inside an object": repeated("#\n", DENIED + "data:\n", "  a: b\n"),
    "comments alone": repeated("# c\n"),
    "documents of a comment": repeated("---\n# c\n", DENIED),
    "documents of a blank line": repeated("---\n\n", DENIED),
    "empty documents": repeated("---\n", DENIED),
    "text beside separators": repeated("--- a: b: c\n", DENIED),
    "separators alone": repeated("---\n"),
    "comments beside separators": repeated("--- # c\n", DENIED),
}
"""Files that hold almost nothing to parse."""

OBJECTS: dict[str, Shape] = {
    "comments that ignore findings": repeated("# gpushare-webhook: ignore GPS001\n", OBJECT),
    "comments that ignore findings of lines": numbered("  k{}: v # gpushare-webhook: ignore GPS001\n", _DATA),
    "documents of null": repeated("---\nnull\n", OBJECT),
    "documents of a scalar": repeated("---\nkind\n"),
    "documents of an empty mapping": repeated("---\n{}\n", OBJECT),
    "documents of an empty list": repeated("---\n[]\n", OBJECT),
    "documents of a list": repeated("---\n- a\n", OBJECT),
    "documents with a colon too many": repeated("---\na: b: c\n", OBJECT),
    "documents of a placeholder": repeated("---\na: {{ b }}\n", OBJECT),
    "documents of an opened placeholder": repeated("---\na: [{{\n", OBJECT),
    "documents of an end of a document": repeated("---\n...\n", OBJECT),
    "documents of a directive": repeated("---\n%YAML 1.1\n", OBJECT),
    "documents of a tab": repeated("---\na:\n\tb\n", OBJECT),
    "documents of a control character": repeated("---\na\x01\n", OBJECT),
    "documents of a byte order mark": repeated("---\n\ufeff\n", OBJECT),
    "documents of bytes that are no text": repeated("---\n\udcff\n", OBJECT),
    "documents of an alias": repeated("---\n*a\n", OBJECT),
    "documents of an anchor": repeated("---\n&a\n", OBJECT),
    "documents of a kind": repeated("---\nkind: A\n"),
    "documents of a version": repeated("---\napiVersion: v1\n"),
    "objects without a pod": repeated("---\n{apiVersion: v1, kind: A}\n"),
    "pods without a specification": repeated("---\n{apiVersion: v1, kind: Pod}\n"),
    "malformed metadata": repeated("---\nmetadata: 1\napiVersion: v1\nkind: A\n"),
    "empty reviews": repeated("---\n{apiVersion: admission.k8s.io/v1, kind: AdmissionReview}\n"),
    "settings": repeated("---\napiVersion: gpushare-webhook/v1\n", OBJECT),
    "list of empty mappings": repeated("- {}\n", _LIST),
    "list of empty mappings in brackets": repeated("{},", "{apiVersion: v1, kind: List, items: [", "{}]}\n"),
    "list of nulls": repeated("-\n", _LIST),
    "list of lists": repeated("- items: []\n", _LIST),
    "list of pods without a specification": repeated("- {apiVersion: v1, kind: Pod}\n", _LIST),
    "JSON list of empty mappings": repeated("{},", _JSON_LIST, "{}]}"),
    "JSON list of numbers": repeated("1,", _JSON_LIST, "1]}"),
    "JSON values": repeated("{} ", '{"apiVersion": "v1", "kind": "A"} '),
    "JSON values with a key twice": repeated('{"a":1,"a":1} '),
    "containers of a custom kind": numbered(_CONTAINER, _CUSTOM + "  containers:\n"),
    "templates of a custom kind": numbered(_TEMPLATE, _CUSTOM),
    "amounts of a custom kind": repeated("  - nvidia.com/gpu: 2\n", _CUSTOM + "  a:\n"),
    "containers of a pod": numbered(_CONTAINER, _POD + "  containers:\n"),
    "variables of a pod": numbered("    - {{name: V{}, value: a}}\n", _POD + "  containers:\n  - name: c\n    env:\n"),
    "scalars with anchors": numbered("  k{0}: &a{0} v\n", _DATA),
    "scalars with tags": numbered("  k{}: !!str v\n", _DATA),
    "scalars with escapes": numbered('  k{}: "\\x41"\n', _DATA),
    "mappings with anchors": numbered("  k{0}: &a{0} {{a: b}}\n", _DATA),
    "scalars in a list": repeated("  - a\n", _DATA),
    "scalars in a list with a tag": repeated("  - a\n", OBJECT + "data: !!seq\n"),
    "keys with a value": numbered("  k{}: v\n", _DATA),
    "keys beside a tag": numbered("  k{}: v\n", OBJECT + "x: !!str a\ndata:\n"),
    "scalars in brackets": repeated("a,", OBJECT + "data: [", "a]\n"),
    "empty lists in brackets": repeated("[],", OBJECT + "data: [", "[]]\n"),
    "literal text": repeated("    some text of a file\n", _DATA + "  a: |\n"),
    "text in quotes": repeated("some text ", OBJECT + 'data: {a: "', '"}\n'),
}
"""Files of documents and objects of a few bytes, and of objects that hold one thing many times."""

FILES = {**BLANKS, **OBJECTS, **TEXTS}


def encoded(shape: Shape, size: int) -> bytes:
    """The file of a shape with about this many bytes."""
    return shape(size).encode("utf-8", "surrogateescape")


def content(name: str, size: int) -> bytes:
    """The file of the shape of a name with about this many bytes."""
    return encoded(FILES[name], size)
