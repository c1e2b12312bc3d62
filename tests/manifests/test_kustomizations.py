"""Kustomizations in folders: nothing is hidden by them, and each is named with the command that builds it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run
from tests.linear import assert_linear
from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests import Reason, Source, sources

GPU = "nvidia.com/gpu"


def pod(gpus: object, name: str = "train") -> str:
    container = {"name": name, "image": "registry.example.test/train:1", "resources": {"limits": {GPU: gpus}}}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
    )


OPERATIONS = """\
- op: replace
  path: /spec/containers/0/resources/limits/nvidia.com~1gpu
  value: 2
"""


QUOTED = OPERATIONS.replace("\n", "\n\n   ")


def write(top: Path, **texts: str) -> None:
    """Write files of the folder `kk`. The name of each is a keyword, with `_` in place of the dot."""
    for name, text in texts.items():
        file = top / "kk" / name.replace("_", ".")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)


def checked(*arguments: str) -> Any:
    return run("check", "-o", "json", *arguments).json()


def codes(report: Any) -> dict[str, list[str]]:
    """The findings by file, each as code, severity and line."""
    return {
        one["file"]: [f"{found['code']} {found['severity']} {found['line']}" for found in one["findings"]]
        for one in report["results"]
    }


def test_patch_that_is_a_complete_object_is_checked_as_one(top: Path) -> None:
    write(top, kustomization_yaml="resources: [base.json]\npatches: [{path: p.json}]", base_json=pod(1), p_json=pod(2))
    report = checked("kk")
    assert codes(report) == {"kk/base.json": [], "kk/kustomization.yaml": [], "kk/p.json": ["GPS001 deny 1"]}
    assert report["unread"] == [UNBUILT]
    assert run("check", "kk").code == 1


def test_base_is_checked_as_it_stands(top: Path) -> None:
    write(top, kustomization_yaml="resources: [base.json]\npatches: [{path: p.json}]", base_json=pod(2), p_json=pod(1))
    ended = run("check", "kk")
    assert ended.code == 1
    assert "  kubectl kustomize kk | gpushare-webhook check -" in ended.out
    assert codes(checked("kk"))["kk/base.json"] == ["GPS001 deny 1"]


@pytest.mark.parametrize(
    ("patch", "line"),
    [
        (OPERATIONS, 2),
        (json.dumps([{"op": "add", "path": "/spec/a", "value": {"limits": {GPU: 2}}}]), 1),
        ('[{"op": "add", "path": "/spec/containers/0/resources/limits/nvidia\\u002ecom~1gpu", "value": 1}]', 1),
        ("kind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: a, image: i, resources: {limits: {%s: 2}}}]", 4),
        ("spec:\n  template:\n    spec: {containers: [{name: a, image: i, resources: {limits: {%s: 2}}}]}", 3),
        ("|\n  nvidia.com/gpu: 2", 1),
        ("# c\n---\n" + OPERATIONS, 4),
    ],
)
@pytest.mark.parametrize("field", ["patches", "patchesJson6902", "replacements", "patchesStrategicMerge"])
def test_other_patch_that_names_an_amount_is_a_warning(top: Path, patch: str, line: int, field: str) -> None:
    entry = "p.yaml" if field == "patchesStrategicMerge" else "{path: p.yaml}"
    write(top, kustomization_yml=f"{field}: [{entry}]", p_yaml=patch.replace("%s", GPU))
    report = checked("kk")
    assert codes(report) == {"kk/kustomization.yml": [], "kk/p.yaml": [f"GPS023 warn {line}"]}
    (found,) = [one for result in report["results"] for one in result["findings"]]
    assert found["remedy"] == "check the output of kubectl kustomize"
    assert report["errors"] == []


@pytest.mark.parametrize(
    "patch",
    [
        json.dumps([{"op": "remove", "path": "/spec/priority"}]),
        "kind: Pod\nmetadata: {name: a}\nspec: {priority: 1}",
        "spec: {tolerations: [{key: nvidia.com/gpu}]}",
        "text",
    ],
)
def test_other_patch_without_an_amount_is_skipped(top: Path, patch: str) -> None:
    write(top, kustomization_yaml="patches: [{path: p.yaml}]", p_yaml=patch)
    report = checked("kk")
    assert codes(report) == {"kk/kustomization.yaml": [], "kk/p.yaml": []}
    assert [one["decision"] for one in report["results"]] == ["skipped", "skipped"]
    assert report["errors"] == []


def test_document_without_kind_is_a_kustomization_by_its_name(top: Path) -> None:
    write(top, kustomization_yaml="patches: [{path: p.yaml}]", p_yaml="spec: {tolerations: [{key: nvidia.com/gpu}]}")
    kinds = {one["file"]: one["object"]["kind"] for one in checked("kk")["results"]}
    assert kinds == {"kk/kustomization.yaml": "Kustomization", "kk/p.yaml": "Patch"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"resources: [a.yaml]\npatches:\n- patch: |-\n    {OPERATIONS.replace(chr(10), chr(10) + '    ')}", 3),
        (f"patchesJson6902:\n- target: {{kind: Pod, name: a}}\n  patch: '{QUOTED}'", 3),
        (f"patchesStrategicMerge:\n- |-\n  spec:\n    resources: {{limits: {{{GPU}: 2}}}}", 2),
        ("replacements:\n- targets: [{fieldPaths: ['spec.containers.0.resources.limits.[nvidia.com/gpu]']}]", 2),
        (f"helmCharts:\n- name: a\n  valuesInline: {{resources: {{limits: {{{GPU}: 2}}}}}}", 3),
        (f"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{{patch: '{GPU}: 2'}}]", 3),
    ],
)
@pytest.mark.parametrize("name", ["kustomization_yaml", "kustomization_yml", "Kustomization"])
def test_amount_in_a_kustomization_is_a_warning(top: Path, text: str, line: int, name: str) -> None:
    write(top, a_yaml=pod(1), **{name: text})
    report = checked("kk")
    assert codes(report) == {f"kk/{name.replace('_', '.')}": [f"GPS023 warn {line}"], "kk/a.yaml": []}


def test_fake_kustomization_hides_nothing(top: Path) -> None:
    files = {f"{name}_yaml": pod(2, name) for name in ("a", "b", "c", "values", "templates")}
    used = [f"{name}.yaml" for name in ("a", "b", "c", "values", "templates", "kustomization", "./b", "../kk/c")]
    fields = ("patchesStrategicMerge", "configurations", "transformers", "generators", "validators", "components")
    lists = dict.fromkeys((*fields, "crds", "resources", "bases"), used)
    paths = {field: [{"path": one} for one in used] for field in ("patches", "patchesJson6902", "replacements")}
    generated = {
        "configMapGenerator": [{"files": used}],
        "secretGenerator": [{"files": used}],
        "openapi": {"path": "a"},
    }
    charts = {"helmCharts": [{"valuesFile": "a.yaml", "additionalValuesFiles": used}]}
    for value in (lists, paths, generated, charts, {**paths, **lists}):
        write(top, kustomization_yaml=json.dumps(value), **files)
        report = checked("kk")
        assert report["summary"]["denied"] == len(files), value
        assert run("check", "kk").code == 1


@pytest.mark.parametrize("text", ["patches: [\n", "\x00", "a: {{ b }}"])
def test_kustomization_that_cannot_be_read_hides_nothing(top: Path, text: str) -> None:
    write(top, kustomization_yaml=text, a_yaml=pod(2))
    report = checked("kk")
    assert codes(report)["kk/a.yaml"] == ["GPS001 deny 1"]
    assert next(one["file"] for one in report["unread"]) == "kk/"


@pytest.mark.parametrize("text", ["", "[]", "a", "patches: a\nresources: {}\nopenapi: 1", "patches: [1, {path: [2]}]"])
def test_kustomization_of_another_shape(top: Path, text: str) -> None:
    write(top, kustomization_yaml=text, a_yaml=pod(2))
    report = checked("kk")
    assert codes(report)["kk/a.yaml"] == ["GPS001 deny 1"]
    assert report["errors"] == []


def test_list_in_file_named_kustomization_is_a_patch(top: Path) -> None:
    write(top, kustomization_yaml=f"[{{op: add, path: /x, value: {{{GPU}: 2}}}}]")
    (found,) = checked("kk")["results"]
    assert found["object"]["kind"] == "Patch"


def test_part_that_is_wrong_as_an_object_is_an_error(top: Path) -> None:
    write(top, kustomization_yaml="patches: [{path: p.yaml}]", p_yaml="apiVersion: v1\nkind: Pod\nspec: []")
    (error,) = checked("kk")["errors"]
    assert error["file"] == "kk/p.yaml"


def test_resource_that_is_also_a_patch_is_an_object(top: Path) -> None:
    write(top, kustomization_yaml="resources: [p.yaml]\npatches: [{path: p.yaml}]", p_yaml="kind: Pod")
    (error,) = checked("kk")["errors"]
    assert "no `apiVersion`" in error["message"]


def test_excluded_kustomization_is_not_named(top: Path) -> None:
    write(top, kustomization_yaml="patches: [{path: p.yaml}]", a_yaml=pod(1))
    (unread,) = checked("kk", "--exclude", "kustomization.yaml")["unread"]
    assert unread == {"file": "kk/kustomization.yaml", "reason": Reason.EXCLUDED}


def test_kustomization_alone_is_no_input(top: Path) -> None:
    write(top, kustomization_yaml="resources: [../base]")
    ended = run("check", "kk")
    assert ended.code == 2
    assert "1 a kustomization that is not built); pipe `kubectl kustomize` and name - instead" in ended.err


def test_each_folder_is_named_once_and_commands_are_bounded(top: Path) -> None:
    for number in range(30):
        folder = top / "kk" / f"{number:02} &"
        folder.mkdir(parents=True)
        (folder / "kustomization.yaml").write_text("resources: [a.yaml]")
        (folder / "a.yaml").write_text(pod(1))
    out = run("check", "-R", "kk").out
    assert out.count("| gpushare-webhook check -\n") == 5
    assert "  kubectl kustomize 'kk/00 &' | gpushare-webhook check -\n" in out
    assert "30 folders not read: a kustomization that is not built" in out


def unexpected(notice: Diagnostic) -> None:
    raise AssertionError(notice)


@pytest.mark.slow
def test_kustomizations_take_linear_time(top: Path) -> None:
    def prepared(size: int) -> Callable[[], object]:
        folder = top / str(size)
        folder.mkdir(exist_ok=True)
        used = [f"{number}.yaml" for number in range(size * 20)]
        (folder / "kustomization.yaml").write_text(json.dumps({"patchesStrategicMerge": used}))
        for number in range(size):
            (folder / str(number)).mkdir(exist_ok=True)
            (folder / str(number) / "kustomization.yaml").write_text("patchesStrategicMerge: [a.yaml]")
            (folder / str(number) / "a.yaml").write_text(pod(1))
        return lambda: list(sources([str(folder)], io.BytesIO(), unexpected))

    assert_linear(prepared, 32, 512)


def test_kustomization_and_patch_that_are_named_as_in_a_folder(top: Path) -> None:
    write(top, kustomization_yaml="patches: [{path: p.yaml}]", p_yaml=OPERATIONS, a_yaml=pod(1))
    (patch,) = sources(["kk/p.yaml"], io.BytesIO(), unexpected, (), as_in_folder=True)
    assert isinstance(patch, Source)
    assert (patch.named, patch.is_part) == (False, True)
    unbuilt, kustomization = sources(["kk/kustomization.yaml"], io.BytesIO(), unexpected, (), as_in_folder=True)
    assert unbuilt == Unread("kk/", Reason.KUSTOMIZATION, True, "kubectl kustomize kk | gpushare-webhook check -")
    assert isinstance(kustomization, Source)
    assert codes(checked("--force-exclude", "kk/p.yaml")) == {"kk/p.yaml": ["GPS023 warn 2"]}


UNBUILT = {"file": "kk/", "reason": Reason.KUSTOMIZATION, "instead": "kubectl kustomize kk | gpushare-webhook check -"}


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_named_kustomization_is_counted(top: Path, name: str) -> None:
    header = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
    write(top, **{name.replace(".", "_"): f"{header}resources: [https://example.test/pods]\n"}, a_yaml=pod(1))
    arguments = (f"kk/{name}", "kk/a.yaml", "--fail-on", "unread")
    assert checked(*arguments)["unread"] == [UNBUILT]
    assert run("check", *arguments).code == 1
    assert run("check", "kk/a.yaml", "--fail-on", "unread").code == 0


def test_named_kustomization_without_header_is_an_error_with_the_command(top: Path) -> None:
    write(top, kustomization_yaml="resources: [a.yaml]", a_yaml=pod(1))
    report = checked("kk/kustomization.yaml", "kk/a.yaml")
    assert [one["message"] for one in report["errors"]] == ["a kustomization; pipe `kubectl kustomize kk` and name -"]
    assert "unread" not in report


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_pattern_selects_a_kustomization_by_any_of_its_names(top: Path, name: str) -> None:
    write(top, **{name.replace(".", "_"): "resources: [https://example.test/pods]"}, a_yaml=pod(1))
    for pattern, code in (("kk/**/*.yaml", 1), ("kk/*.yml", 2), ("kk/K*", 2)):
        assert checked(pattern, "kk/a.yaml")["unread"] == [UNBUILT]
        assert run("check", pattern, "kk/a.yaml", "--fail-on", "unread").code == code
    assert "unread" not in checked("kk/a*.yaml")


def test_kustomization_in_the_working_directory(top: Path) -> None:
    (top / "kustomization.yaml").write_text("resources: [a.yaml]")
    (top / "a.yaml").write_text(pod(1))
    assert checked(".")["unread"][0]["instead"] == "kubectl kustomize . | gpushare-webhook check -"


def test_mutate_leaves_out_kustomizations_and_their_patches(top: Path) -> None:
    write(top, kustomization_yaml="patches: [{path: p.yaml}]", p_yaml=pod(1, "patch"), a_yaml=pod(1))
    ended = run("mutate", "kk", "-o", "json")
    assert ended.json()["metadata"]["name"] == "train"
    assert "1 object: 1 edited; 2 files and 1 folder not read" in ended.err
