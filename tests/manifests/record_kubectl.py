"""Record how kubectl reads manifests into data/kubectl.json: `python tests/manifests/record_kubectl.py`.

Two readers answer each case, both of the newest release, which Go downloads and builds. The library is record/main.go:
kubectl's own decoders. kubectl is the program: `kubectl label --local` reads a manifest, adds a label and prints JSON
without asking any cluster; its answer is noted where it differs. The version stands in the file.

Values stand in data/values.txt and keys in data/keys.txt, one a line; whole documents and streams stand here.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TABLE = HERE / "data" / "kubectl.json"
VERSION = "v0.37.2"
MODULES = (f"k8s.io/apimachinery@{VERSION}", f"k8s.io/kubectl@{VERSION}")
LABEL = "recorded"
HEAD = "apiVersion: v1\nkind: X\n"
LIST = "apiVersion: v1\nkind: List\nitems:\n"
OBJECT = "{apiVersion: v1, kind: A}"

BLOCKS = {
    "literal": "v: |\n  a\n  b\n",
    "literal strip": "v: |-\n  a\n\n",
    "literal keep": "v: |+\n  a\n\n",
    "literal without final newline": "v: |\n  a",
    "literal indented": "v: |2\n   a\n",
    "folded": "v: >\n  a\n  b\n\n  c\n",
    "folded with indented line": "v: >\n  a\n    b\n  c\n",
    "plain over lines": "v: a\n  b\n",
    "plain over lines is no number": "v: 1\n  2\n",
    "double quoted over lines": 'v: "a\n  b\\\n  c"\n',
    "double quoted at column one": 'v: "a\nb"\n',
    "empty value": "v:\nw: 1\n",
    "comment for value": "v: # nothing\n",
    "sequence at the key's column": "v:\n- 1\n- 2\n",
    "nested sequence": "v:\n- - 1\n  - 2\n-\n  - 3\n",
    "empty item": "v:\n-\n- 1\n",
    "explicit key": "? v\n: 1\n",
    "explicit key without value": "? v\n",
    "block scalar as key": "? |\n  v\n: 1\n",
    "flow over lines": "v: {a: 1,\n b: [1,\n 2]}\n",
    "flow with trailing comma": "v: {a: 1,}\nw: [1,]\n",
    "flow without space": 'v: {"a":1,b: 2}\n',
    "flow key without value": "v: {a, b: 1}\n",
    "pair in a list": "v: [a: 1, b]\n",
    "url in flow": "v: [http://x/y, a:b]\n",
    "tab after colon": "v:\t1\n",
    "tab before comment": "v: 1\t# c\n",
    "tab in flow": "v: {\n\ta: 1}\n",
    "tab as indentation": "v:\n\ta: 1\n",
    "tab as indentation of a list": "v:\n\t- 1\n",
    "line separator in plain text": "v: a\u2028b\n",
    "next line in quotes": 'v: "a\u0085b"\n',
    "non-breaking space": "v: a\u00a0b\n",
    "astral character": "v: \U0001f600\n",
    "delete character": "v: a\x7fb\n",
    "nul": "v: a\x00b\n",
    "escape character": "v: a\x1bb\n",
    "unterminated quote": 'v: "a\n',
    "unterminated flow": "v: [1, 2\n",
    "wrong closing bracket": "v: [1}\n",
    "no colon": "v\n",
    "colon in plain text": "v: a: b\n",
    "bad indentation": "v:\n    a: 1\n  b: 2\n",
    "key as list item": "v: 1\n- a\n",
    "anchor and alias": "v: &a [1, 2]\nw: *a\n",
    "anchor of a scalar": "v: &a yes\nw: *a\n*a : key\n",
    "anchor given again": "v: &a 1\nw: *a\nx: &a 2\ny: *a\n",
    "anchor of nothing": "v: &a\nw: *a\n",
    "alias before its anchor": "v: *a\nw: &a 1\n",
    "alias of itself": "v: &a [*a]\n",
    "alias as key of a mapping": "v: &a {b: 1}\n*a : 1\n",
    "merge": "v: &a {b: 1, c: 2}\nw: {<<: *a, c: 3}\n",
    "merge after the key wins": "v: &a {b: 1, c: 2}\nw: {c: 3, <<: *a}\n",
    "merge of several": "v: &a {b: 1}\nw: &b {b: 2, c: 2}\nx: {<<: [*a, *b]}\n",
    "two merges": "v: &a {b: 1}\nw: &b {b: 2, c: 2}\nx:\n  <<: *a\n  <<: *b\n",
    "merge in place": "w:\n  <<: {b: 1}\n  c: 2\n",
    "merge of a merge": "v: &a {b: 1}\nw: &b {<<: *a, c: 2}\nx: {<<: *b}\n",
    "merge of a list by alias": "v: &a [{b: 1}]\nw: {<<: *a}\n",
    "merge of a scalar": "w: {<<: 1}\n",
    "merge of a list with a scalar": "w: {<<: [1]}\n",
    "merge of a null": "w:\n  <<:\n",
    "quoted merge is a key": 'v: &a {b: 1}\nw: {"<<": *a}\n',
    "tagged merge": 'v: &a {b: 1}\nw: {!!merge "<<": *a}\n',
    "flow with two commas": "v: [1,,2]\n",
    "flow with leading comma": "v: [,1]\n",
    "flow mapping with two commas": "v: {a: 1,,}\n",
    "flow with comma alone": "v: [,]\n",
    "flow with comment": "v: [1, # one\n  2 # two\n ]\n",
    "flow without comma": "v: [1 2]\n",
    "flow mapping without comma": "v: {a: 1 b: 2}\n",
    "empty flow over lines": "v: {\n}\nw: [\n]\n",
    "null items": "v:\n- ~\n-\n- null\n- ''\n",
    "mappings in a nested list": "v:\n- - a: 1\n    b: 2\n  - c: 3\n",
    "empty mapping values": "v: {a: , b: ''}\n",
    "tab after dash": "v:\n-\t1\n",
    "tab after dash of a mapping": "v:\n-\ta: 1\n",
    "tab before colon": "v\t: 1\n",
    "tab alone on a line": "v: 1\n\t\nw: 2\n",
    "tab at the end of a line": "v: 1\t\nw: 2\n",
    "tab before a comment line": "v: 1\n\t# c\nw: 2\n",
    "tab in a literal": "v: |\n  \ta\n",
    "tab after spaces of an indentation": "v:\n  a: 1\n  \tb: 2\n",
    "comment without space": "v: a#b\nw: 'a'#b\n",
    "key of 1000 characters": f"{'k' * 1000}: v\n",
    "key of 2000 characters": f"{'k' * 2000}: v\n",
    "key with spaces": "a b c: v\n",
    "key over lines": "a\n  b: v\n",
    "quoted key in a block": "'a': 1\n\"b\": 2\n",
    "key without space": "v:1\n",
    "two colons": "v:: 1\n",
    "single quotes in double quotes": 'v: "it\'s"\nw: \'say "x"\'\n',
    "text after quotes": "v: 'a' b\n",
    "percent at the start of a line": "v: a\n%b: 1\n",
    "alias in a flow list": "v: &a 1\nw: [*a, *a]\n",
    "alias with colon": "v: &a 1\nw: {*a: 1}\n",
    "literal with a wrong indentation": "v: |\n    a\n  b\n",
    "literal with leading blank line": "v: |\n\n  a\n",
    "literal with more blanks than text": "v: |\n     \n  a\n",
    "literal at column one": "v: |\na\n",
    "folded strip": "v: >-\n  a\n  b\n",
    "literal with comment": "v: | # c\n  a\n",
    "large integers": "v: [9223372036854775807, 9223372036854775808, 18446744073709551616, -9223372036854775809]\n",
    "duplicate key": "v: 1\nv: 2\n",
    "duplicate key in a flow mapping": "v: {a: 1, a: 2}\n",
    "duplicate key below": "v:\n  a: 1\n  b: 1\n  a: 2\n",
    "keys that differ in case": "v: 1\nV: 2\n",
    "duplicate key by spelling": "1: a\n0x1: b\n",
}
STREAMS = {
    "nothing": "",
    "blank lines": "\n\n",
    "comments": "# a\n# b\n",
    "one": "kind: A\n",
    "no final newline": "kind: A",
    "two": "kind: A\n---\nkind: B\n",
    "separator first": "---\nkind: A\n---\nkind: B\n",
    "separator last": "kind: A\n---\n",
    "separator last without newline": "kind: A\n---",
    "separators alone": "---\n---\n---\n",
    "empty between": "kind: A\n---\n---\nkind: B\n",
    "comment between": "kind: A\n---\n# nothing\n---\nkind: B\n",
    "null between": "kind: A\n---\n~\n---\nkind: B\n",
    "comment above separator": "# licence\n---\nkind: A\n",
    "comment beside separator": "--- # one\nkind: A\n--- # two\nkind: B\n",
    "comment right after separator": "---# one\nkind: A\n",
    "comment right after a later separator": "kind: A\n---# two\nkind: B\n",
    "space after separator": "---  \nkind: A\n",
    "tab after separator": "---\t\nkind: A\n",
    "mapping beside separator": "--- {kind: A}\n",
    "mapping beside a later separator": "kind: A\n--- {kind: B}\n",
    "tag beside separator": "--- !!map\nkind: A\n",
    "block scalar beside separator": "--- |\n  kind: A\n",
    "four dashes": "kind: A\n----\nkind: B\n",
    "text right after separator": "kind: A\n---b\nkind: B\n",
    "indented separator": "kind: A\nv: |\n  a\n  ---\n  b\n",
    "indented separator outside text": "kind: A\n ---\n",
    "separator in quotes": 'kind: A\nv: "a\n---\nb"\n',
    "separator in a top-level block scalar": "|\n a\n---\nkind: B\n",
    "end marker": "kind: A\n...\n",
    "end marker and separator": "kind: A\n...\n---\nkind: B\n",
    "end marker and comment": "kind: A\n...\n# done\n",
    "text after end marker": "kind: A\n...\nkind: B\n",
    "text after a flow mapping": "kind: A\n---\n{kind: B} c\n",
    "end marker alone": "...\n",
    "directive": "%YAML 1.1\n---\nkind: A\n",
    "byte order mark": "\ufeffkind: A\n",
    "byte order mark and separator": "\ufeff---\nkind: A\n",
    "byte order mark in a later document": "kind: A\n---\n\ufeffkind: B\n",
    "byte order mark before JSON": '\ufeff{"kind": "A"}',
    "byte order mark inside": "kind: A\n\ufeffv: 1\n",
    "CRLF": "kind: A\r\nv: |\r\n  a\r\n  b\r\n---\r\nkind: B\r\n",
    "CRLF in quotes": "kind: A\r\nv: 'a\r\n  b'\r\n",
    "lone CR": "kind: A\rv: 1\r",
    "error in the second": "kind: A\n---\nkind: [\n---\nkind: C\n",
    "text document": "hello\n",
    "list document": "- kind: A\n",
    "number document": "1\n",
    "List": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: v1, kind: B}\n",
    "empty List": "apiVersion: v1\nkind: List\nitems: []\n",
    "null items": "apiVersion: v1\nkind: List\nitems:\n",
    "items is no list": "apiVersion: v1\nkind: List\nitems: {a: 1}\n",
    "item is no mapping": "apiVersion: v1\nkind: List\nitems: [1]\n",
    "PodList without kinds": "apiVersion: v1\nkind: PodList\nitems:\n- {v: 1}\n- {apiVersion: v2, kind: B}\n",
    "any kind with items": "apiVersion: v1\nkind: Foo\nitems:\n- {apiVersion: v1, kind: A}\n",
    "List in a List": f"{LIST}- {OBJECT}\n- apiVersion: v1\n  kind: List\n  items:\n  - {OBJECT}\n",
    "List with null item": f"{LIST}- ~\n- {OBJECT}\n",
    "List with empty item": f"{LIST}- {OBJECT}\n-\n",
    "PodList with empty item": "apiVersion: v1\nkind: PodList\nitems:\n-\n",
    "List with text item": f"{LIST}- a\n",
    "List with a list for item": f"{LIST}- - {OBJECT}\n",
    "List without items": "apiVersion: v1\nkind: List\n",
    "List with null items in a List": f"{LIST}- {{apiVersion: v1, kind: List, items: }}\n- {OBJECT}\n",
    "List after a document": f"kind: A\n---\n{LIST}- {OBJECT}\n---\nkind: C\n",
    "PodList in JSON": '{"kind": "PodList", "apiVersion": "v1", "items": [{"v": 1}, {"kind": "B"}]}',
    "comments between separators": "# a\n---\n# b\n---\n# c\n---\nkind: A\n---\n# d\n",
    "comments and separators alone": "# a\n---\n# b\n",
    "comment after blanks": "\n  # a\n\nkind: A\n",
    "tab alone": "\t\n",
    "separator with carriage return": "kind: A\r\n---\r\nkind: B\r\n--- \r\nkind: C\r\n",
    "separator before a blank line": "---\n\nkind: A\n---\n\n---\n\nkind: B\n",
    "separator with tab and comment": "---\t# one\nkind: A\n",
    "separator with a flow list": "--- [a]\n",
    "separators in a row with comments": "--- # a\n--- # b\nkind: A\n",
    "two byte order marks": "\ufeff\ufeffkind: A\n",
    "byte order mark alone": "\ufeff",
    "tag directive": "%TAG ! tag:example.com,2000:\n---\nkind: A\n",
    "comment and directive": "# a\n%YAML 1.2\n---\nkind: A\n",
    "end marker between": "kind: A\n...\n---\n...\n---\nkind: B\n",
    "end marker with text": "kind: A\n... b\n",
    "indented document": "  kind: A\n  v: 1\n---\n    kind: B\n",
    "anchor of another document": "kind: A\nv: &a 1\n---\nkind: B\nv: *a\n",
    "flow mapping over lines": "{\nkind: A,\nv: 1,\n}\n",
    "flow mapping and JSON": '{kind: A}\n---\n{"kind": "B"}\n---\n{kind: C,}\n',
    "empty text document": '""\n',
    "boolean document": "yes\n",
    "kind is a number": "kind: 1\n",
    "kind is null": "kind: ~\n",
    "empty mapping": "{}\n",
    "mapping without kind": "apiVersion: v1\n",
    "flow mapping": "{kind: A, v: 1}\n",
    "flow mapping then document": "{kind: A}\n---\nkind: B\n",
    "JSON": '{"kind": "A", "v": [1, 1.0, 1e3, -0, -0.0, 1.5, true, null, "x"]}',
    "JSON with tabs": '{\n\t"kind": "A",\n\t"v": 1\n}\n',
    "JSON after blanks": '\n \t{"kind": "A"}',
    "JSON in a row": '{"kind": "A"}{"kind": "B"}\n{"kind": "C"}',
    "JSON with separators": '{"kind": "A"}\n---\n{"kind": "B"}\n---\n{"kind": "C"}\n',
    "JSON in a row and then a separator": '{"kind": "A"}{"kind": "B"}\n---\n{"kind": "C"}\n',
    "JSON then YAML": '{"kind": "A"}\n---\nkind: B\n',
    "JSON then YAML on the next line": '{"kind": "A"}\nkind: B\n',
    "JSON then comment": '{"kind": "A"} # done\n',
    "JSON with trailing comma": '{"kind": "A",}',
    "JSON with NaN": '{"kind": "A", "v": NaN}',
    "JSON with comment": '{"kind": "A" # c\n}',
    "JSON with huge integer": '{"kind": "A", "v": 12345678901234567890}',
    "JSON with huge float": '{"kind": "A", "v": 1e400}',
    "JSON with half a surrogate pair": '{"kind": "A", "v": "\\ud800 \\ud83d\\ude00 \\\\ud800"}',
    "JSON with leading zero": '{"kind": "A", "v": 01}',
    "JSON with a key twice": '{"kind": "A", "v": 1, "v": 2}',
    "JSON with trailing comma in a list": '{"kind": "A", "v": [1, 2,]}',
    "JSON with trailing comma over lines": '{\n  "kind": "A",\n  "v": [\n    1,\n  ],\n}\n',
    "JSON with trailing comma and tabs": '{\n\t"kind": "A",\n}\n',
    "JSON with two trailing commas": '{"kind": "A",,}',
    "JSON with leading comma": '{,"kind": "A"}',
    "JSON without a comma": '{"kind": "A" "v": 1}',
    "JSON with line comment": '{\n  // c\n  "kind": "A"\n}',
    "JSON with block comment": '{\n  /* c */\n  "kind": "A"\n}',
    "JSON with comment of YAML over lines": '{\n  # c\n  "kind": "A"\n}',
    "JSON with comment above": '# c\n{"kind": "A"}',
    "JSON with single quotes": "{'kind': 'A'}",
    "JSON with keys without quotes": '{kind: "A", v: 1}',
    "JSON without space after colon": '{"kind":"A","v":[1,2]}',
    "JSON with hexadecimal": '{"kind": "A", "v": 0x10}',
    "JSON with plus": '{"kind": "A", "v": +1}',
    "JSON with point first": '{"kind": "A", "v": .5}',
    "JSON with point last": '{"kind": "A", "v": 1.}',
    "JSON with Infinity": '{"kind": "A", "v": Infinity}',
    "JSON with True": '{"kind": "A", "v": True}',
    "JSON with yes": '{"kind": "A", "v": yes}',
    "JSON with large integers": '{"kind": "A", "v": [9223372036854775807, 9223372036854775808, -9223372036854775809]}',
    "JSON with small floats": '{"kind": "A", "v": [1e-400, 1E2, 1e+2, 0.1, 100.0]}',
    "JSON with nul": '{"kind": "A", "v": "\\u0000"}',
    "JSON with a line break in text": '{"kind": "A", "v": "a\nb"}',
    "JSON with a tab in text": '{"kind": "A", "v": "a\tb"}',
    "JSON with an unknown escape": '{"kind": "A", "v": "\\x41"}',
    "JSON with an escaped slash": '{"kind": "A", "v": "a\\/b"}',
    "JSON with a key twice below": '{"kind": "A", "v": {"a": 1, "a": 2}}',
    "JSON with keys that differ in case": '{"kind": "A", "Kind": "B"}',
    "JSON with a bracket after it": '{"kind": "A"}}',
    "JSON with text after it": '{"kind": "A"} b',
    "JSON with CRLF": '{\r\n  "kind": "A",\r\n  "v": 1\r\n}\r\n',
    "JSON with CRLF and trailing comma": '{\r\n  "kind": "A",\r\n}\r\n',
    "JSON with null items": '{"kind": "A", "v": [null, {}, [], [[]], ""]}',
    "JSON in a list": '[{"kind": "A"}, {"kind": "B"}]',
    "JSON empty object and then a document": '{"kind": "A"}\n---\n{"kind": "B",}\n',
    "JSON lines": '{"kind": "A"}\n{"kind": "B"}\n{"kind": "C"}\n',
    "JSON lines with CRLF": '{"kind": "A"}\r\n{"kind": "B"}\r\n',
    "JSON lines with blank lines": '{"kind": "A"}\n\n\n{"kind": "B"}\n\n',
    "JSON lines with byte order mark": '\ufeff{"kind": "A"}\n{"kind": "B"}\n',
    "JSON lines with commas": '{"kind": "A"},\n{"kind": "B"}\n',
    "JSON lines with null": '{"kind": "A"}\nnull\n{"kind": "B"}\n',
    "JSON lines with a comment": '{"kind": "A"}\n# c\n{"kind": "B"}\n',
    "JSON lines with trailing comma in the first": '{"kind": "A",}\n{"kind": "B"}\n',
    "JSON lines with trailing comma in the second": '{"kind": "A"}\n{"kind": "B",}\n',
    "JSON lines with trailing comma in the third": '{"kind": "A"}\n{"kind": "B"}\n{"kind": "C",}\n',
    "JSON lines cut short": '{"kind": "A"}\n{"kind": "B"}\n{"kind":',
    "JSON null": "null",
    "JSON null and a document": "null\n---\nkind: A\n",
    "JSON cut short": '{"kind": "A", "v": [1',
    "JSON List": '{"kind": "List", "apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "A"}]}',
    "a template": "kind: A\nv: {{ .Values.v }}\n",
    "a template first": "{{ if .x }}\nkind: A\n{{ end }}\n",
}


def cases() -> dict[str, str]:
    """Return the input of every case by its name."""
    values, keys = ((HERE / "data" / name).read_text().splitlines() for name in ("values.txt", "keys.txt"))
    found = {f"value {value}": f"{HEAD}v: {value}\n" for value in values}
    found |= {f"key {key}": f"{HEAD}{key}: v\n" for key in keys}
    found |= {f"block {name}": HEAD + text for name, text in BLOCKS.items()}
    return found | {f"stream {name}": text for name, text in STREAMS.items()}


def ask_kubectl(program: Path, text: str) -> dict[str, Any]:
    command = [str(program), "label", "--local", "-f", "-", "-o", "json", f"{LABEL}=yes"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    decoder, output, objects = json.JSONDecoder(), done.stdout.decode().strip(), []
    while output:
        value, end = decoder.raw_decode(output)
        objects.append(_unlabelled(value))
        output = output[end:].lstrip()
    return {"objects": objects} if done.returncode == 0 else {"objects": objects, "error": done.stderr.decode().strip()}


def _unlabelled(value: dict[str, Any]) -> dict[str, Any]:
    del value["metadata"]["labels"][LABEL]
    for parent, key in ((value["metadata"], "labels"), (value, "metadata")):
        if not parent[key]:
            del parent[key]
    return value


def ask_library(program: Path, texts: list[str]) -> list[dict[str, Any]]:
    inputs = json.dumps([base64.b64encode(text.encode()).decode() for text in texts])
    done = subprocess.run([str(program)], input=inputs.encode(), check=True, capture_output=True)
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def build(folder: Path) -> tuple[Path, Path]:
    """Build both readers in an empty folder, and return their paths."""
    shutil.copytree(HERE / "record", folder, dirs_exist_ok=True)
    for command in (
        ["mod", "init", "record"],
        ["get", *MODULES],
        ["mod", "tidy"],
        ["build", "-o", "library", "."],
        ["build", "-o", "kubectl.exe", "./kubectl"],
    ):
        subprocess.run(["go", *command], cwd=folder, check=True, capture_output=True)
    return folder / "library", folder / "kubectl.exe"


def main() -> None:
    """Ask both readers and write the table."""
    inputs = cases()
    with tempfile.TemporaryDirectory() as folder:
        library, kubectl = build(Path(folder))
        answers = ask_library(library, list(inputs.values()))
        lines = [
            _line(kubectl, name, text, answer) for (name, text), answer in zip(inputs.items(), answers, strict=True)
        ]
    body = ",\n".join(lines)
    TABLE.write_text(f'{{"version": {json.dumps(VERSION)}, "cases": {{\n{body}\n}}}}\n')


def _line(kubectl: Path, name: str, text: str, answer: dict[str, Any]) -> str:
    case = {"input": text, **answer}
    other = ask_kubectl(kubectl, text)
    if other["objects"] != answer["objects"] or ("error" in other) != ("error" in answer):
        case["kubectl"] = other
    return f"  {json.dumps(name)}: {json.dumps(case)}"


if __name__ == "__main__":
    main()
