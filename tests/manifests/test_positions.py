"""Line and column of values, by hand and by property."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.manifests.reading import read
from webhook.diagnostics import Diagnostic
from webhook.manifests import Manifest, Position
from webhook.manifests.text import CollectionMark, Mark
from webhook.policy.verdict import Path

YAML = """\
# licence
---
# a comment
apiVersion: v1
kind: Pod
metadata:
  name: "x"   # name
  labels: &labels
    app: a
spec:
  containers:
  - name: one
    args: [a, "é", 'c']
    command:
    - |
      #!/bin/sh
      exit 0
    -   two
    resources: {limits: {nvidia.com/gpu: 2, cpu: 1}}
    empty:
    next: 1
  -
    name: two
    labels: *labels
    merged:
      <<: *labels
      own: 1
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  spec:
    priority: 1
-   kind: Pod
    apiVersion: v1
    spec: {priority: 2}
"""
POD: list[tuple[Path, int, int]] = [
    ((), 4, 1),
    (("metadata",), 7, 3),
    (("metadata", "name"), 7, 9),
    (("metadata", "labels"), 8, 11),
    (("spec", "containers"), 12, 3),
    (("spec", "containers", 0), 12, 5),
    (("spec", "containers", 0, "args", 1), 13, 15),
    (("spec", "containers", 0, "args", 2), 13, 20),
    (("spec", "containers", 0, "command", 0), 15, 7),
    (("spec", "containers", 0, "command", 1), 18, 9),
    (("spec", "containers", 0, "resources", "limits"), 19, 25),
    (("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu"), 19, 42),
    (("spec", "containers", 0, "empty"), 20, 11),
    (("spec", "containers", 1), 23, 5),
    (("spec", "containers", 1, "labels"), 24, 13),
    (("spec", "containers", 1, "labels", "app"), 9, 10),
    (("spec", "containers", 1, "merged"), 26, 7),
    (("spec", "containers", 1, "merged", "app"), 9, 10),
    (("spec", "containers", 1, "merged", "own"), 27, 12),
    # What does not exist is said of its nearest ancestor.
    (("nothing",), 4, 1),
    (("metadata", "name", "deeper"), 7, 9),
    (("spec", "containers", 2), 12, 3),
    (("spec", "containers", -1), 12, 3),
    (("spec", "containers", "0"), 12, 3),
    (("spec", "containers", 0, "env", 0, "name"), 12, 5),
    ((0,), 4, 1),
]


def manifests(text: str) -> list[Manifest]:
    found = list(read("f", text.encode()))
    assert not [problem for problem in found if isinstance(problem, Diagnostic)]
    return [manifest for manifest in found if isinstance(manifest, Manifest)]


@pytest.mark.parametrize(("path", "line", "column"), POD)
def test_yaml_positions(path: Path, line: int, column: int) -> None:
    assert manifests(YAML)[0].locate(path) == Position(line, column)


def test_list_item_positions() -> None:
    pod, first, second = manifests(YAML)
    assert [(m.document, m.line) for m in (pod, first, second)] == [(1, 4), (2, 32), (2, 36)]
    assert first.locate(()) == Position(32, 3)
    assert first.locate(("spec", "priority")) == Position(35, 15)
    assert second.locate(("spec", "priority")) == Position(38, 22)
    assert second.locate(("metadata",)) == Position(36, 5)


JSON = """
{
\t"kind": "List", "apiVersion": "v1",
  "items": [
    {"kind": "Pod", "apiVersion": "v1", "\\u0061b": [1, {"c\\"": "x, y}"}, []], "n": -1.5},
    {"kind": "Pod", "apiVersion": "v1",
     "spec": null, "é": true}
  ]}
{"kind": "Pod"}"""


def test_json_positions() -> None:
    first, second, third = manifests(JSON)
    assert [(m.document, m.line) for m in (first, second, third)] == [(1, 5), (1, 6), (2, 9)]
    assert first.locate(()) == Position(5, 5)
    assert first.locate(("ab",)) == Position(5, 52)
    assert first.locate(("ab", 1, 'c"')) == Position(5, 64)
    assert first.locate(("ab", 2)) == Position(5, 74)
    assert first.locate(("n",)) == Position(5, 84)
    assert first.locate(("ab", 3, "x")) == Position(5, 52)
    assert second.locate(("spec",)) == Position(7, 14)
    assert second.locate(("é",)) == Position(7, 25)
    assert third.locate(("kind",)) == Position(9, 10)


def test_line_breaks_are_those_of_editors() -> None:
    # To libyaml U+2028 and U+0085 end lines too.
    (manifest,) = manifests('kind: A\nv: "a\u2028b\u0085c"\nw: 1\n')
    assert manifest.locate(("w",)) == Position(3, 4)


def test_columns_count_characters_without_byte_order_mark() -> None:
    (manifest,) = manifests("\ufeff{kind: A, é: \U0001f600, v: 1}\r\n")
    assert manifest.locate(("v",)) == Position(1, 20)


def test_yaml_after_json_on_one_line_keeps_its_column() -> None:
    _, second = manifests('{"kind": "A"} kind: B\n')
    assert second.locate(("kind",)) == Position(1, 21)


def test_document_numbers() -> None:
    def numbers(text: str) -> list[tuple[int, int]]:
        return [(m.document, m.line) for m in manifests(text)]

    assert numbers("kind: A\n---\nkind: B\n") == [(1, 1), (2, 3)]
    assert numbers("---\nkind: A\n---\nkind: B\n") == [(1, 2), (2, 4)]
    assert numbers("# c\n\n---\nkind: A\n") == [(1, 4)]
    assert numbers("kind: A\n---\n---\n# c\n---\nkind: B\n") == [(1, 1), (4, 6)]
    assert numbers("---\n---\nkind: A\n") == [(2, 3)]
    assert numbers('{"kind": "A"}\n---\nkind: B\n') == [(1, 1), (2, 3)]


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff"), max_size=12)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: not value.is_integer())
    | TEXT
    | st.sampled_from(
        ["y", "no", "on", "0o7", "0b1", "1_0", "2001-01-01", "1:30", "<<", "=", "~", "", ".5", "1e3", "08"]
    )
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))
OBJECTS = st.dictionaries(TEXT.filter(lambda key: key != "items"), VALUES, max_size=5)


class QuotingDumper(yaml.SafeDumper):
    """Writes strings in double quotes and aliases never: what a value is stays plain to see."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


QuotingDumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def paths(value: object, path: Path = ()) -> list[tuple[Path, object]]:
    found: list[tuple[Path, object]] = [(path, value)]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += paths(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += paths(inner, (*path, index))
    return found


def text_from(text: str, position: Position) -> str:
    lines = text.split("\n")
    return "\n".join([lines[position.line - 1][position.column - 1 :], *lines[position.line :]])


@given(OBJECTS, st.booleans())
def test_yaml_round_trip_and_scalar_positions(value: dict[str, object], flow: bool) -> None:
    text = yaml.dump(
        value, Dumper=QuotingDumper, default_flow_style=flow, allow_unicode=True, width=10**6, sort_keys=False
    )
    (manifest,) = manifests(text)
    assert json.dumps(manifest.value) == json.dumps(value)
    for path, inner in paths(value):
        if not isinstance(inner, dict | list):
            rest = text_from(text, manifest.locate(path)).partition("\n")[0]
            event = next(e for e in yaml.parse("[" + rest) if isinstance(e, yaml.ScalarEvent))
            (again,) = manifests(
                "{v: " + (json.dumps(event.value, ensure_ascii=False) if event.style else event.value) + "}"
            )
            assert again.value == {"v": inner}


@given(OBJECTS, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_json_round_trip_and_value_positions(
    value: dict[str, object], indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    (manifest,) = manifests(text)
    assert json.dumps(manifest.value) == json.dumps(value)
    for path, inner in paths(value):
        again, _ = json.JSONDecoder().raw_decode(text_from(text, manifest.locate(path)))
        assert again == inner


@given(st.lists(OBJECTS, min_size=1, max_size=3), st.sampled_from([None, 1]))
def test_value_positions_in_items_of_json_list(values: list[dict[str, object]], indent: int | None) -> None:
    text = json.dumps({"apiVersion": "v1", "items": values, "kind": "List"}, indent=indent)
    for manifest, value in zip(manifests(text), values, strict=True):
        for path, inner in paths(value):
            again, _ = json.JSONDecoder().raw_decode(text_from(text, manifest.locate(path)))
            assert again == inner


WORDS = ["kind: A\n", "---\n", "...\n", "- ", ": ", "&a ", "*a", "<<: ", "!!int ", "null", "items", "? ", "  ", "|\n"]
PIECES = st.sampled_from([*WORDS, *"{}[],#%1'\"\n\t\r\x00\ufeff"])


@given(st.binary(max_size=60) | st.lists(PIECES, max_size=25).map(lambda pieces: "".join(pieces).encode()))
def test_any_bytes_give_manifests_or_diagnostics(data: bytes) -> None:
    lines = data.count(b"\n") + 2
    for found in read("f", data):
        assert isinstance(found, Manifest | Diagnostic)
        assert 1 <= found.line <= lines
        if isinstance(found, Manifest):
            assert isinstance(found.value, dict)
            for path, _ in paths(found.value):
                assert 1 <= found.locate(path).line <= lines


@given(OBJECTS, st.booleans())
def test_each_value_has_a_mark_and_each_mark_a_value(value: dict[str, object], flow: bool) -> None:
    text = yaml.dump(value, Dumper=QuotingDumper, default_flow_style=flow, allow_unicode=True, sort_keys=False)
    (manifest,) = manifests(text)
    assert _shape(manifest.within.marks.nearest(())) == _shape_of(manifest.value)


def _shape(mark: Mark) -> object:
    """The keys and lengths of the collections of a tree."""
    if not isinstance(mark, CollectionMark):
        return None
    if isinstance(mark.inside, dict):
        return {key: _shape(one) for key, one in mark.inside.items()}
    return [_shape(one) for one in mark.inside]


def _shape_of(value: object) -> object:
    if isinstance(value, dict):
        return {key: _shape_of(one) for key, one in value.items()}
    return [_shape_of(one) for one in value] if isinstance(value, list) else None
