"""What a change leaves unread: which tricks hide an object, and how `--fail-on skipped` tells in each format."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.run import run
from tests.manifests.repositories import git

DENIED = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}
"""
HARMLESS = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: c, image: i}]}\n"


@pytest.fixture
def checkout(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work tree with a harmless object in `ok`. Its author controls the rest."""
    monkeypatch.setenv("HOME", str(here / "home"))
    git(here, "init", "--quiet", "work")
    (here / "work" / "ok").mkdir()
    (here / "work" / "ok" / "x.yaml").write_text(HARMLESS)
    monkeypatch.chdir(here / "work")
    return here / "work"


def pod(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(DENIED)


def text(name: str, content: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(content)


def plain() -> None:
    pod("pod.yaml")


def below() -> None:
    pod("a/b/c/pod.yaml")


def tracked() -> None:
    pod("pod.yaml")
    git(Path(), "add", "--force", "pod.yaml")
    text(".gitignore", "pod.yaml\n")


def tracked_folder() -> None:
    pod("folder/pod.yaml")
    git(Path(), "add", "--force", "folder/pod.yaml")
    text(".gitignore", "folder/\n*.yaml\n")
    text("folder/.gitignore", "*\n")


def hidden_file() -> None:
    pod(".pod.yaml")


def hidden_folder() -> None:
    pod(".folder/pod.yaml")


def named_like_settings() -> None:
    pod("sub/.gpushare.yaml")


def patch_by_a_link() -> None:
    pod("d/pod.yaml")
    text("elsewhere", "patches: [{path: pod.yaml}]\n")
    Path("d/kustomization.yaml").symlink_to(Path("../../elsewhere"))
    Path("../elsewhere").write_text("patches: [{path: pod.yaml}]\n")


def device_as_kustomization() -> None:
    pod("d/pod.yaml")
    Path("d/kustomization.yaml").symlink_to("/dev/ptmx")


def devices_as_gitignore() -> None:
    pod("d/pod.yaml", "e/pod.yaml")
    Path("d/.gitignore").symlink_to("/dev/ptmx")
    Path("e/.gitignore").symlink_to("/dev/zero")


def gitignore_outside_a_work_tree() -> None:
    os.rename(".git", "other")  # noqa: PTH104
    pod("pod.yaml")
    text(".gitignore", "*\n")


SEEN = (
    *(plain, below, tracked, tracked_folder, hidden_file, hidden_folder, named_like_settings, patch_by_a_link),
    *(device_as_kustomization, devices_as_gitignore, gitignore_outside_a_work_tree),
)


@pytest.mark.parametrize("prepare", SEEN)
def test_object_is_checked_in_spite_of_a_trick(checkout: Path, prepare: Callable[[], None]) -> None:
    prepare()
    ended = run("check", ".", "--config", "/dev/null")
    assert ended.code == 1, ended
    assert "GPS001" in ended.out


OURS = "gpushare-webhook/v1"
REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ({"apiVersion": OURS, "kind": "SettingsList"}, 1),
        ({"apiVersion": OURS, "kind": "Facts"}, 1),
        ({"apiVersion": OURS, "kind": "Settings", "mode": "audit"}, 2),
        ({**REVIEW, "kind": "AdmissionReviewList"}, 1),
        ({**REVIEW, "request": {"operation": "DELETE", "oldObject": {"kind": "Pod"}}}, 2),
    ],
)
def test_items_of_any_kind_are_checked(checkout: Path, header: dict[str, object], code: int) -> None:
    text("list.yaml", yaml.safe_dump({**header, "items": [yaml.safe_load(DENIED)]}))
    ended = run("check", ".", "--config", "/dev/null")
    assert "./list.yaml:" in ended.out
    assert "GPS001" in ended.out
    assert ended.code == code, ended
    assert ('with "items" for a list and drops the rest' in ended.err) == (code == 2)


def test_pipe_as_gitignore(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.manifests.git.SECONDS", 0.5)
    pod("d/pod.yaml")
    os.mkfifo("d/.gitignore")
    ended = run("check", "d")
    assert ended.code == 1
    assert ended.err == "d: git could not say what it ignores (it takes longer than 0.5 s): nothing is ignored\n"
    assert run("mutate", "d", "-q").err.startswith("d: git could not say")


def chart() -> None:
    text("c/Chart.yaml", "name: x")
    pod("c/templates/pod.yaml")


def chart_file() -> None:
    pod("c/Chart.yaml")


def chart_values() -> None:
    text("c/Chart.yaml", "name: x")
    pod("c/more-values.yaml")


def template() -> None:
    text("pod.yaml", f"{{{{- if true }}}}\n{DENIED}")


def ignored_file() -> None:
    pod("pod.yaml")
    text(".gitignore", "pod.yaml")


def ignored_folder() -> None:
    pod("build/pod.yaml")
    text(".gitignore", "build/")


def link_to_folder() -> None:
    pod("../outside/pod.yaml")
    Path("folder").symlink_to("../outside")


def link_out() -> None:
    pod("../pod.yaml")
    Path("pod.yaml").symlink_to("../pod.yaml")


def link_to_device() -> None:
    Path("pod.yaml").symlink_to("/dev/zero")


def pipe() -> None:
    os.mkfifo("pod.yaml")


HIDDEN = {
    chart: {"./c/Chart.yaml": "part of a Helm chart", "./c/templates/": "part of a Helm chart"},
    chart_file: {"./c/Chart.yaml": "part of a Helm chart"},
    chart_values: {"./c/Chart.yaml": "part of a Helm chart", "./c/more-values.yaml": "part of a Helm chart"},
    template: {"./pod.yaml": "an unrendered template"},
    ignored_file: {"./pod.yaml": "ignored by git"},
    ignored_folder: {"./build/": "ignored by git"},
    link_to_folder: {"./folder/": "a link to a folder"},
    link_out: {"./pod.yaml": "a link out of the folder"},
    link_to_device: {"./pod.yaml": "a link out of the folder"},
    pipe: {"./pod.yaml": "not a regular file"},
}


@pytest.mark.parametrize("prepare", HIDDEN)
def test_what_hides_an_object_is_counted(checkout: Path, prepare: Callable[[], None]) -> None:
    prepare()
    codes = [run("check", ".", "--fail-on", one).code for one in ("deny", "warn", "unread", "skipped", "never")]
    assert codes == [0, 0, 1, 1, 0]
    ended = run("check", ".", "--fail-on", "skipped", "-o", "json")
    report = ended.json()
    assert ended.code == 1
    assert {one["file"]: one["reason"] for one in report["unread"]} == HIDDEN[prepare]
    assert [result["decision"] for result in report["results"]] == ["allowed"]
    folders = sum(name.endswith("/") for name in HIDDEN[prepare])
    unread = report["summary"]["unread"]
    assert (unread["folders"], unread["files"]) == (folders, len(HIDDEN[prepare]) - folders)
    assert sum(unread["reasons"].values()) == len(HIDDEN[prepare])
    # What an option leaves out is the user's choice.
    exclude = [word for file in HIDDEN[prepare] for word in ("--exclude", file.removeprefix("."))]
    ended = run("check", ".", "--fail-on", "skipped", "-o", "json", *exclude)
    assert (ended.code, {one["reason"] for one in ended.json()["unread"]}) == (0, {"excluded by --exclude"})


def settings_and_facts() -> None:
    text(".gpushare.yaml", "mode: audit\n")
    text("facts.yaml", "apiVersion: gpushare-webhook/v1\nkind: Facts\n")


def no_manifests() -> None:
    text("compose.yaml", "services: {a: {}}")
    text("numbers.json", "[1]")
    text("notes.txt", DENIED)
    Path("link.txt").symlink_to("/dev/zero")
    os.mkfifo("pipe")
    text("build/x.o", "")
    text("x.o", "")
    text(".gitignore", "*.o")


def review() -> None:
    text("review.yaml", "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse: {uid: a, allowed: true}\n")


def empty_folders() -> None:
    Path("a/b/c").mkdir(parents=True)


def test_exempt_namespace_passes(checkout: Path) -> None:
    text("pod.yaml", DENIED.replace("name: p", "name: p, namespace: gpu-operator"))
    (found,) = [
        one for one in run("check", ".", "--fail-on", "unread", "-o", "json").json()["results"] if "reason" in one
    ]
    assert (found["decision"], found["reason"]) == ("allowed", "exempt: the namespace is listed in exempt.namespaces")


def test_annotation_of_mirror_pod_passes(checkout: Path) -> None:
    annotated = DENIED.replace("name: p", 'name: p, annotations: {kubernetes.io/config.mirror: "1"}')
    text("pod.yaml", annotated)
    ended = run("check", "pod.yaml", "--fail-on", "unread", "-o", "json")
    (found,) = ended.json()["results"]
    assert (ended.code, found["decision"]) == (0, "allowed")
    assert found["reason"] == "exempt: the pod mirrors a static pod, which a kubelet runs already"


def test_object_without_pods_fails_only_a_run_that_fails_on_skipped(checkout: Path) -> None:
    text("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")
    assert run("check", ".", "--fail-on", "unread").code == 0
    assert run("check", ".", "--fail-on", "skipped").code == 1


@pytest.mark.parametrize("prepare", [settings_and_facts, no_manifests, review, empty_folders])
def test_what_hides_nothing_does_not_count(checkout: Path, prepare: Callable[[], None]) -> None:
    prepare()
    ended = run("check", ".", "--fail-on", "skipped")
    assert ended.code == 0, ended


UNREAD = {"files": 1, "folders": 1, "reasons": {"part of a Helm chart": 2}}


def test_each_format_with_a_summary_names_what_is_unread(checkout: Path) -> None:
    chart()
    formats = ("text", "json", "junit", "sarif", "github")
    ended = {one: run("check", ".", "-o", one, "--fail-on", "skipped") for one in formats}
    assert {one.code for one in ended.values()} == {1}
    assert ended["json"].json()["summary"]["unread"] == UNREAD
    assert ended["sarif"].json()["runs"][0]["properties"]["summary"]["unread"] == UNREAD
    cases = ElementTree.fromstring(ended["junit"].out).iter("testcase")  # noqa: S314 - our own report
    skipped = {case.get("classname"): one.get("message") for case in cases for one in case.iter("skipped")}
    assert skipped == HIDDEN[chart]
    assert ended["text"].out.splitlines() == [
        "./c/Chart.yaml: not read: part of a Helm chart",
        "./c/templates/: not read: part of a Helm chart",
        "",
        "1 file and 1 folder not read: part of a Helm chart",
        "1 object: 1 allowed",
    ]
    *errors, notice = ended["github"].out.splitlines()
    assert errors == [
        "::error file=c/Chart.yaml,title=not read::part of a Helm chart",
        "::error file=c/templates,title=not read::part of a Helm chart",
    ]
    assert notice.endswith("1 object: 1 allowed; 1 file and 1 folder not read (2 part of a Helm chart)")
    quiet = run("check", ".", "-q", "--fail-on", "skipped").out.splitlines()
    assert quiet == ended["text"].out.splitlines()[:2]
    assert run("check", ".", "-q").out == ""
    assert run("check", ".").out.splitlines() == ended["text"].out.splitlines()[3:]
    assert run("mutate", ".").err.splitlines()[-1].endswith("; 1 file and 1 folder not read (2 part of a Helm chart)")


def test_named_files_that_are_skipped_as_in_a_folder_count(checkout: Path) -> None:
    chart()
    files = ("ok/x.yaml", "c/templates/pod.yaml")
    assert run("check", *files, "--force-exclude").code == 0
    assert run("check", *files, "--force-exclude", "--fail-on", "skipped").code == 1
    assert run("check", *files, "--force-exclude", "--fail-on", "skipped", "--exclude", "c/").code == 0
    assert run("check", *files).code == 1


def test_link_out_of_the_folder_quotes_nothing(checkout: Path) -> None:
    text("../secret.json", '{"kind": "Pod", "password": "hunter2", "password": 1}')
    Path("pod.json").symlink_to("../secret.json")
    for form in ("text", "json", "junit", "sarif", "github"):
        ended = run("check", ".", "-o", form)
        assert "hunter2" not in ended.out + ended.err
        assert "password" not in ended.out + ended.err
