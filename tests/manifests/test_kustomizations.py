"""Kustomizations in folders: built, with the line that says each finding, or named with the command that builds it."""

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
    """The findings by file, each as code, severity and line, with its file if that is another one."""
    found: dict[str, list[str]] = {}
    for one in report["results"]:
        found.setdefault(one["file"], []).extend(
            f"{finding['code']} {finding['severity']} {finding['line']} {finding.get('file', '')}".strip()
            for finding in one["findings"]
        )
    return found


def test_patch_is_judged_on_its_base(top: Path) -> None:
    write(top, kustomization_yaml="resources: [base.json]\npatches: [{path: p.json}]", base_json=pod(1), p_json=pod(2))
    report = checked("kk")
    assert codes(report) == {"kk/base.json": ["GPS001 deny 1 kk/p.json"]}
    assert (report["results"][0]["source"], "unread" in report) == ("kk/kustomization.yaml", False)
    assert run("check", "kk").code == 1
    write(top, base_json=pod(2), p_json=pod(1))
    assert codes(checked("kk")) == {"kk/base.json": []}


WHOLE_CARDS = """
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: nvidia.com/gpu.sharing-strategy, operator: NotIn, values: [mps, time-slicing]}
          - {key: nvidia.com/mps.capable, operator: NotIn, values: ["true"]}
  containers: [{name: train, image: "registry.example.test/train:1"}]
"""
PATCH = """
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
  - name: train
    resources:
      limits:
        nvidia.com/gpu: 8
"""


def test_patch_of_pod_on_whole_cards_is_allowed(top: Path) -> None:
    write(top, kustomization_yaml="resources: [a.yaml]\npatches: [{path: p.yaml}]", a_yaml=WHOLE_CARDS, p_yaml=PATCH)
    assert codes(checked("kk")) == {"kk/a.yaml": []}


@pytest.mark.parametrize(
    ("kustomization", "line"),
    [
        ("patches:\n- patch: |-%s", 12),
        ("patches:\n- target: {kind: Pod}\n  patch: |\n    - op: add\n      path: /spec/containers/0/resources\n"
         "      value: {limits: {nvidia.com/gpu: 2}}", 7),
    ],
)  # fmt: skip
def test_finding_of_inline_patch_is_at_its_line(top: Path, kustomization: str, line: int) -> None:
    inner = PATCH.replace("\n", "\n    ")
    write(top, kustomization_yaml="resources: [a.json]\n" + kustomization.replace("%s", inner), a_json=pod(1))
    assert codes(checked("kk")) == {"kk/a.json": [f"GPS001 deny {line} kk/kustomization.yaml"]}


def test_comment_of_a_patch_suppresses_its_finding(top: Path) -> None:
    patch = PATCH.replace("gpu: 8", "gpu: 8  # gpushare-webhook: ignore GPS001 - whole cards")
    write(top, kustomization_yaml="resources: [a.json]\npatches: [{path: p.yaml}]", a_json=pod(1), p_yaml=patch)
    (top / ".gpushare.yaml").write_text("suppress: {comments: true}")
    (found,) = checked("kk")["results"]
    assert (found["decision"], found["suppressed"][0]["reason"]) == ("allowed", "whole cards")


def test_finding_of_several_overlays_is_reported_once(top: Path) -> None:
    write(top, kustomization_yaml="resources: [a.json]", a_json=pod(2))
    for name in ("dev", "prod", "test"):
        (top / name).mkdir()
        (top / name / "kustomization.yaml").write_text(f"resources: [../kk]\nnamespace: {name}\n")
    report = checked(".")
    assert [one["object"]["namespace"] for one in report["results"]] == ["dev", "prod", "test"]
    assert [len(one["findings"]) for one in report["results"]] == [1, 1, 1]
    text = run("check", ".")
    assert text.out.count("kk/a.json:") == text.out.count("(also in 2 other overlays)") == 1
    assert report["summary"]["denied"] == 3
    (top / "accepted.json").write_text(json.dumps(report))
    assert run("check", "dev", "prod", "test", "--baseline", "accepted.json").code == 0
    assert checked("dev")["results"][0]["object"]["namespace"] == "dev"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("replacements: [{path: r.yaml}]", ":2:15: `replacements` is not followed"),
        ("transformers: [t.yaml]", ":2:15: `transformers` is not followed"),
        ("patches: [{path: p.yaml, target: {name: '(a*)*'}}]", "is not followed"),
        ("patches: [{path: q.yaml}]", ":2:18: no such file or folder"),
        ("nothing: 1", ":2:10: kustomize knows no such field"),
        ("components: [../kk]", "a kustomization includes itself, or a folder above it"),
        ("namespace: [1]", ":2:12: must be text"),
    ],
)
def test_kustomization_that_is_not_built_says_why(top: Path, text: str, said: str) -> None:
    write(top, kustomization_yaml=f"resources: [a.json]\n{text}", a_json=pod(2), p_yaml=PATCH, r_yaml="[]", t_yaml="[]")
    report = checked("kk")
    assert said in report["unread"][0]["why"]
    assert codes(report)["kk/a.json"] == ["GPS001 deny 1"]


@pytest.mark.parametrize("lacking", ["resources: [a.json, https://example.test/x]", "helmCharts: [{name: x}]"])
def test_kustomization_that_lacks_objects_is_built_without_them(top: Path, lacking: str) -> None:
    text = f"{lacking}\npatches:\n- path: p.yaml\n- path: q.yaml\n  target: {{name: other}}\n"
    text += "" if "a.json" in lacking else "resources: [a.json]"
    write(top, kustomization_yaml=text, a_json=pod(2), p_yaml=PATCH.replace("8", "1"), q_yaml=PATCH)
    report = checked("kk")
    assert report["summary"]["denied"] == 0
    assert codes(report)["kk/q.yaml"] == ["GPS023 warn 10"]
    assert report["unread"][0]["file"] == "kk/"


def test_kustomizations_of_one_that_is_not_built_are_built(top: Path) -> None:
    write(top, kustomization_yaml="resources: [a.json]\npatches: [{path: p.yaml}]", a_json=pod(1), p_yaml=PATCH)
    (top / "over").mkdir()
    (top / "over" / "kustomization.yaml").write_text("resources: [../kk]\nvars: [{name: x}]")
    report = checked(".")
    assert codes(report)["./kk/a.json"] == ["GPS001 deny 10 ./kk/p.yaml"]
    assert [one["file"] for one in report["unread"]] == ["./over/"]


def test_base_outside_the_checkout_is_not_followed(work_tree: Path) -> None:
    write(work_tree.parent, kustomization_yaml="resources: [a.json]", a_json=pod(2))
    (work_tree / "over").mkdir()
    for target in ("../../kk", "link"):
        (work_tree / "over" / "kustomization.yaml").write_text(f"resources: [{target}, b.json]")
        (work_tree / "over" / "b.json").write_text(pod(1))
        (work_tree / "over" / "link").unlink(missing_ok=True)
        (work_tree / "over" / "link").symlink_to(work_tree.parent / "kk")
        report = checked("over")
        assert report["unread"][0]["why"].endswith("a folder outside the checkout")
        assert report["summary"]["denied"] == 0


def test_file_outside_the_folder_of_a_kustomization_is_not_merged(top: Path) -> None:
    for target in ("../b.json", "link.json"):
        write(top, kustomization_yaml=f"resources: [{target}]")
        (top / "b.json").write_text(pod(2))
        (top / "kk" / "link.json").unlink(missing_ok=True)
        (top / "kk" / "link.json").symlink_to(top / "b.json")
        report = checked(".")
        assert codes(report)["./b.json"] == ["GPS001 deny 1"]
        assert "outside the folder of its kustomization" in next(
            one["why"] for one in report["unread"] if one["file"] == "./kk/"
        )


def test_kustomization_builds_with_the_files_that_an_option_excludes(top: Path) -> None:
    write(top, kustomization_yaml="resources: [a.json]", a_json=pod(2))
    for excluded in ("a.json", "kk/a.json"):
        assert codes(checked("kk", "--exclude", excluded)) == {"kk/a.json": ["GPS001 deny 1"]}


def test_baseline_accepts_a_finding_in_all_overlays(top: Path) -> None:
    write(top, kustomization_yaml="resources: [a.json]", a_json=pod(2))
    for name in ("one", "two"):
        (top / name).mkdir()
        (top / name / "kustomization.yaml").write_text(f"resources: [../kk]\nnamespace: {name}")
    run("check", ".", "-q", "-o", "json=baseline")
    report = checked(".", "--baseline", "baseline")
    assert (report["summary"]["denied"], report["summary"]["allowed"]) == (0, 2)


def test_key_given_twice_is_a_note(top: Path) -> None:
    write(top, kustomization_yaml="namespace: a\nresources: [a.json]\nnamespace: b", a_json=pod(1))
    ended = run("check", "kk")
    assert ended.code == 0
    assert 'kk/kustomization.yaml:3:1: mapping key "namespace" is given twice' in ended.err


RELEASE = {
    "apiVersion": "helm.toolkit.fluxcd.io/v2",
    "kind": "HelmRelease",
    "metadata": {"name": "gpu-operator"},
    "spec": {"values": {"devicePlugin": {"config": {"name": "sharing", "default": "any"}}}},
}
SHARING = "version: v1\nsharing:\n  timeSlicing:\n    resources: [{name: nvidia.com/gpu, replicas: 4}]\n"


def test_generated_configuration_is_read_as_facts(top: Path) -> None:
    options = "options: {disableNameSuffixHash: true}"
    text = f"configMapGenerator: [{{name: sharing, files: [any=x.yaml], {options}}}]\nresources: [r.json, a.json]"
    write(top, kustomization_yaml=text, r_json=json.dumps(RELEASE), x_yaml=SHARING, a_json=pod(2))
    report = checked("kk")
    assert report["factsFromInputs"]["read"][0]["says"] == "device plugin: time-slicing"
    assert report["summary"]["denied"] == 0
    write(top, x_yaml=SHARING.replace("replicas: 4", "replicas: 0"))
    assert codes(checked("kk"))["kk/x.yaml"] == ["GPS030 deny 4"]


def test_configuration_of_a_kustomization_that_is_not_built_is_in_no_input(top: Path) -> None:
    text = "configMapGenerator: [{name: sharing, files: [any=x.yaml]}]\nresources: [r.json]\nvars: [{name: x}]"
    write(top, kustomization_yaml=text, r_json=json.dumps(RELEASE), x_yaml=SHARING)
    (refused,) = checked("kk")["factsFromInputs"]["refused"]
    assert "a ConfigMap that no input holds" in refused["reason"]


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
        assert sum(map(bool, codes(report).values())) == len(files), value
        is_patch = "patches" in value and "resources" not in value
        assert (report["summary"]["denied"] == len(files)) is not is_patch, value
        assert run("check", "kk", "--fail-on", "unread").code == 1


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


def test_patch_with_the_header_of_an_object_is_a_part_of_one(top: Path) -> None:
    write(top, kustomization_yaml="patches: [{path: p.yaml}]", p_yaml="apiVersion: v1\nkind: Pod\nspec: []")
    assert checked("kk")["errors"] == []


def test_resource_that_is_also_a_patch_is_an_object(top: Path) -> None:
    write(top, kustomization_yaml="resources: [p.yaml]\npatches: [{path: p.yaml}]", p_yaml="kind: Pod")
    (error,) = checked("kk")["errors"]
    assert "no `apiVersion`" in error["message"]


def test_excluded_kustomization_is_not_built(top: Path) -> None:
    write(top, kustomization_yaml="resources: [a.json]\npatches: [{path: p.yaml}]", a_json=pod(2), p_yaml=PATCH)
    report = checked("kk", "--exclude", "kustomization.y*ml")
    assert {"file": "kk/kustomization.yaml", "reason": Reason.EXCLUDED} in report["unread"]
    assert codes(report) == {"kk/a.json": ["GPS001 deny 1"], "kk/p.yaml": ["GPS001 deny 10"]}


def test_kustomization_alone_is_no_input(top: Path) -> None:
    write(top, kustomization_yaml="resources: [../base]")
    ended = run("check", "kk")
    assert ended.code == 2
    assert "1 a kustomization that is not built in full); pipe `kubectl kustomize` and name - instead" in ended.err


def test_each_folder_is_named_once_and_commands_are_bounded(top: Path) -> None:
    for number in range(30):
        folder = top / "kk" / f"{number:02} &"
        folder.mkdir(parents=True)
        (folder / "kustomization.yaml").write_text("resources: [a.yaml]\nvars: [{name: x}]")
        (folder / "a.yaml").write_text(pod(1))
    out = run("check", "-R", "kk").out
    assert out.count("| gpushare-webhook check -\n") == 5
    assert "  kubectl kustomize 'kk/00 &' | gpushare-webhook check -\n" in out
    assert "30 folders not read: a kustomization that is not built in full" in out


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
    assert [{**one, "why": ""} for one in checked(*arguments)["unread"]] == [UNBUILT | {"why": ""}]
    assert run("check", *arguments).code == 1
    assert run("check", "kk/a.yaml", "--fail-on", "unread").code == 0


def test_named_kustomization_is_built(top: Path) -> None:
    write(top, kustomization_yaml="resources: [a.yaml]\nnamespace: x", a_yaml=pod(1))
    for names in (("kk/kustomization.yaml",), ("kk/a.yaml", "kk/kustomization.yaml"), ("kk/*.yaml",)):
        (found,) = checked(*names)["results"]
        assert (found["file"], found["object"]["namespace"]) == ("kk/a.yaml", "x")


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_pattern_selects_a_kustomization_by_any_of_its_names(top: Path, name: str) -> None:
    write(top, **{name.replace(".", "_"): "resources: [https://example.test/pods]"}, a_yaml=pod(1))
    for pattern, code in (("kk/**/*.yaml", 1), ("kk/*.yml", 2), ("kk/K*", 2)):
        assert [one["file"] for one in checked(pattern, "kk/a.yaml")["unread"]] == ["kk/"]
        assert run("check", pattern, "kk/a.yaml", "--fail-on", "unread").code == code
    assert "unread" not in checked("kk/a*.yaml")


def test_kustomization_in_the_working_directory(top: Path) -> None:
    (top / "kustomization.yaml").write_text("resources: [a.yaml]\nvars: [{name: x}]")
    (top / "a.yaml").write_text(pod(1))
    assert checked(".")["unread"][0]["instead"] == "kubectl kustomize . | gpushare-webhook check -"


def test_mutate_leaves_out_kustomizations_and_their_patches(top: Path) -> None:
    write(top, kustomization_yaml="patches: [{path: p.yaml}]", p_yaml=pod(1, "patch"), a_yaml=pod(1))
    ended = run("mutate", "kk", "-o", "json")
    assert ended.json()["metadata"]["name"] == "train"
    assert "1 object: 1 edited; 2 files and 1 folder not read" in ended.err
