"""Kustomizations build to the objects that kustomize builds: recorded output, and the list of intended differences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.cases import every_case
from tests.linear import assert_linear
from tests.manifests.record_kustomize import TABLE, write
from webhook.manifests.kustomize import build, reader
from webhook.manifests.kustomize.build import Builder
from webhook.manifests.kustomize.reader import FIELDS

CASES: dict[str, Any] = json.loads(TABLE.read_text())["cases"]


NOT_FOLLOWED = {
    "patch by target that may rename": "`options` of patches are not followed",
    "target by label": "`labelSelector` is not followed",
    "target by annotation": "`annotationSelector` is not followed",
    "tests that hold": "the operation of the patch is not followed",
    "operation that moves": "the operation of the patch is not followed",
    "references of a configuration": "`configurations` is not followed",
    "namespaces of a configuration": "`configurations` is not followed",
    "labels at fields": "`fields` of labels are not followed",
    "images by expression": "expressions and `tagSuffix` of images are not followed",
}


@every_case(CASES)
def test_objects_equal_those_of_kustomize(name: str) -> None:
    with TemporaryDirectory() as folder:
        write(Path(folder), CASES[name]["files"])
        (Path(folder) / ".git").mkdir()
        builder = Builder()
        found = [one.value for one in builder.build([f"{folder}/over/kustomization.yaml"])]
    if name in NOT_FOLLOWED:
        assert [why.message for why in builder.unbuilt.values()] == [NOT_FOLLOWED[name]]
        return
    texts = None if builder.unbuilt else sorted(json.dumps(one, sort_keys=True) for one in found)
    built = CASES[name]["built"]
    assert texts == (built and sorted(json.dumps(one, sort_keys=True) for one in built))


def test_base_behind_a_link_is_found_from_its_own_folder(tmp_path: Path) -> None:
    files = {
        "real/deep/base/kustomization.yaml": "resources: [../common]",
        "o/kustomization.yaml": "resources: [../lb]",
    }
    for number, common in enumerate(("real/deep/common", "common")):
        files[f"{common}/kustomization.yaml"] = "resources: [a.yaml]"
        files[f"{common}/a.yaml"] = POD.replace("name: p", f"name: p{number}")
    write(tmp_path, {**files, ".git/x": ""})
    (tmp_path / "lb").symlink_to("real/deep/base")
    assert [one.value["metadata"]["name"] for one in Builder().build([f"{tmp_path}/o/kustomization.yaml"])] == ["p0"]


def test_reason_of_a_referrer_is_not_that_of_its_base(tmp_path: Path) -> None:
    files = {"o/kustomization.yaml": "resources: [a.yaml]", "o/a.yaml": POD, ".git/x": ""}
    files |= {"b/kustomization.yaml": "resources: [../o]", "o/deep/kustomization.yaml": "resources: [../../b]"}
    write(tmp_path, files)
    builder = Builder()
    built = builder.build([f"{tmp_path}/{folder}/kustomization.yaml" for folder in ("o", "o/deep", "b")])
    assert [one.overlay for one in built] == [f"{tmp_path}/b/kustomization.yaml"]
    assert list(builder.unbuilt) == [f"{tmp_path}/o/deep"]


def test_missing_file_of_a_generator_is_an_object_less(tmp_path: Path) -> None:
    text = "resources: [a.yaml]\nsecretGenerator: [{name: s, envs: [ignored.env]}]\nnamespace: ns"
    write(tmp_path, {"kustomization.yaml": text, "a.yaml": POD})
    builder = Builder()
    (built,) = builder.build([f"{tmp_path}/kustomization.yaml"])
    assert built.value["metadata"]["namespace"] == "ns"
    assert [why.message for why in builder.unbuilt.values()] == ["no such file or folder"]


ODD: list[Any] = [
    *(None, True, 0, "", "x", "../..", "/", "a\0b", [], {}, [1], ["x"], [[]], [{}], {"a": 1}, [{"name": 1}]),
    *([{"path": 1}], [{"path": "a.yaml", "target": 1}], [{"patch": {}}], [{"patch": "[1]", "target": {}}]),
    *([{"patch": f"- {operation}", "target": {}}] for operation in (
        *("{op: 1}", "{op: add}", "{op: add, path: '', value: 1}", "{op: add, path: /kind, value: [1]}"),
        *("{op: add, path: /metadata, value: 1}", "{op: remove, path: /metadata/name}", "{op: copy, path: /a}"),
        *("{op: add, path: /spec, value: []}", "{op: add, path: /metadata/labels, value: 7}", "{op: move, path: /a}"),
    )),
    *([{"patch": patch, "target": {"kind": "Pod"}}] for patch in ("metadata: 1", "spec: []", "kind: [1]", "a: *b")),
    *([{"patch": "{spec: {containers: [1, [], {name: []}, {$patch: 1}]}}", "target": target}] for target in (
        *({"kind": "Pod"}, {"name": "("}, {"name": [1]}, {"labelSelector": 1}, {"labelSelector": "a in"}, {}),
    )),
    *([{"name": "p", "count": "x", "newTag": [1], "newName": {}}], [{"name": "p", "files": 1, "literals": [1]}]),
    *([{"name": "p", "files": ["=x", "x=", "a=b=c"]}], [{"name": "p", "files": ["a.yaml"], "options": {"labels": 1}}]),
    *([{"pairs": 1}], [{"pairs": {"a": [1]}, "includeSelectors": True}]),
]  # fmt: skip
POD = "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b}}, spec: {containers: [{name: a, image: p}]}}"


@every_case(sorted(FIELDS))
def test_value_of_another_type_is_an_error_of_the_kustomization(field: str) -> None:
    with TemporaryDirectory() as folder:
        for odd in ODD:
            kustomization = json.dumps({"resources": ["a.yaml"]} | {field: odd})
            write(Path(folder), {"over/a.yaml": POD, "over/kustomization.yaml": kustomization})
            builder = Builder()
            for one in builder.build([f"{folder}/over/kustomization.yaml"]):
                assert one.line > 0
            assert all(why.message for why in builder.unbuilt.values())


@every_case(
    [
        *("1", "[1]", "apiVersion: v1\nkind: List\nitems: 1", "apiVersion: v1\nkind: Pod\nmetadata: 1"),
        *(POD.replace("{a: b}", odd) for odd in ("1", "[1]", "{a: [1]}")),
        *(POD.replace("{containers: [{name: a, image: p}]}", odd) for odd in ("1", "[]", "{containers: {}}", "null")),
    ]
)
def test_object_of_another_shape_is_no_crash(text: str) -> None:
    with TemporaryDirectory() as folder:
        changes = {"namespace": "x", "namePrefix": "y", "commonLabels": {"a": "b"}, "images": [{"name": "p"}]}
        selecting = [{"patch": POD, "target": {"labelSelector": "a=b"}}]
        for more in (changes, {"patches": selecting}, {"patches": [{"path": "a.yaml"}]}):
            kustomization = json.dumps({"resources": ["a.yaml"], **more})
            write(Path(folder), {"over/a.yaml": text, "over/kustomization.yaml": kustomization})
            Builder().build([f"{folder}/over/kustomization.yaml"])


def chain(top: Path, layers: int, text: str) -> str:
    """Write kustomizations that each include the one before; return the file of the last one."""
    for number in range(layers):
        before = f"resources: [../{number - 1}]\n" if number else "resources: [a.yaml]\n"
        write(top, {f"{number}/kustomization.yaml": before + text, f"{number}/a.yaml": POD})
    (top / ".git").mkdir()
    return f"{top}/{layers - 1}/kustomization.yaml"


@pytest.mark.parametrize(
    ("module", "limit", "value", "said"),
    [
        (build, "MOST_LAYERS", 8, "more than 8 kustomizations include each other"),
        (build, "MOST_BYTES", 1, "all kustomizations together build more than"),
        (reader, "MOST_STEPS", 5, "all kustomizations together need more than 5 steps"),
        (reader, "MOST_BYTES", 100, "the files of kustomizations have more than"),
    ],
)
def test_limit_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, limit: str, value: int, said: str
) -> None:
    file = chain(tmp_path, 10, "namespace: x")
    assert len(Builder().build([file])) == 1
    monkeypatch.setattr(module, limit, value)
    builder = Builder()
    assert builder.build([file]) == []
    assert said in next(iter(builder.unbuilt.values())).message


def test_base_that_is_included_twice_in_each_layer_is_bounded(tmp_path: Path) -> None:
    files = {"0/kustomization.yaml": "helmCharts: [{name: a}]", ".git/x": ""}
    for number in range(1, 40):
        files[f"{number}/kustomization.yaml"] = f"resources: [../{number - 1}, ../{number - 1}/]"
    write(tmp_path, files)
    builder = Builder()
    assert builder.build([f"{tmp_path}/39/kustomization.yaml"]) == []
    assert "need more than 1,000,000 steps" in next(iter(builder.unbuilt.values())).message


@pytest.mark.slow
def test_overlays_of_one_base_take_linear_time(tmp_path: Path) -> None:
    def prepared(size: int) -> Callable[[], object]:
        top = tmp_path / str(size)
        write(top, {"base/a.yaml": POD, "base/kustomization.yaml": "resources: [a.yaml]", ".git/x": ""})
        for number in range(size):
            write(top, {f"{number}/kustomization.yaml": f"resources: [../base]\nnamespace: x{number}"})
        files = [f"{top}/{number}/kustomization.yaml" for number in range(size)]
        return lambda: Builder().build(files)

    assert_linear(prepared, 64, 1024)


@every_case(["(a|a)(a|a)(a|a)", "a*a*a*a*b", "(a*)*", "(?=a)", "[[:alpha:]]", "a{1,9}", "a" * 300, "[", "a)"])
def test_expression_that_may_take_long_is_not_followed(pattern: str) -> None:
    entry = {"target": {"name": pattern}, "patch": POD}
    with TemporaryDirectory() as folder:
        kustomization = json.dumps({"resources": ["a.yaml"], "patches": [entry]})
        write(Path(folder), {"over/a.yaml": POD, "over/kustomization.yaml": kustomization})
        builder = Builder()
        assert builder.build([f"{folder}/over/kustomization.yaml"]) == []
        assert builder.unbuilt
