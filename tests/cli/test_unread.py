"""What a change leaves unread: which tricks hide an object, and how `--fail-on skipped` tells in each format."""

from __future__ import annotations

import os
import subprocess
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


PRELUDE = """
pod() { for file; do mkdir -p "$(dirname "$file")"; printf %s "$DENIED" > "$file"; done; }
"""


def prepare(script: str) -> None:
    """Run a script of the author in the work tree. Its function `pod` writes the denied pod into files."""
    subprocess.run(["sh", "-euc", PRELUDE + script], env=os.environ | {"DENIED": DENIED}, check=True, timeout=60)


CHECKED = {
    "plain": "pod pod.yaml",
    "below": "pod a/b/c/pod.yaml",
    "tracked": "pod pod.yaml; git add --force pod.yaml; echo pod.yaml > .gitignore",
    "tracked folder": "pod f/pod.yaml; git add --force f/pod.yaml; echo f/ > .gitignore; echo '*' > f/.gitignore",
    "hidden file": "pod .pod.yaml",
    "hidden folder": "pod .folder/pod.yaml",
    "named like settings": "pod sub/.gpushare.yaml",
    "patch by a link": "pod d/pod.yaml; echo 'patches: [{path: pod.yaml}]' > ../p; ln -s ../../p d/kustomization.yaml",
    "device as kustomization": "pod d/pod.yaml; ln -s /dev/ptmx d/kustomization.yaml",
    "devices as .gitignore": "pod d/pod.yaml e/pod.yaml; ln -s /dev/ptmx d/.gitignore; ln -s /dev/zero e/.gitignore",
    ".gitignore outside a work tree": "mv .git other; pod pod.yaml; echo '*' > .gitignore",
}


@pytest.mark.parametrize("script", CHECKED.values(), ids=CHECKED)
def test_object_is_checked_in_spite_of_a_trick(checkout: Path, script: str) -> None:
    prepare(script)
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
    (checkout / "list.yaml").write_text(yaml.safe_dump({**header, "items": [yaml.safe_load(DENIED)]}))
    ended = run("check", ".", "--config", "/dev/null")
    assert "./list.yaml:" in ended.out
    assert "GPS001" in ended.out
    assert ended.code == code, ended
    assert ('with "items" for a list and drops the rest' in ended.err) == (code == 2)


CHART = "mkdir c; echo 'name: x' > c/Chart.yaml; pod c/templates/pod.yaml"
OF_CHART, OUT = "part of a Helm chart", "a link out of the folder"
HIDDEN = {
    CHART: {"./c/Chart.yaml": OF_CHART, "./c/templates/": OF_CHART},
    "pod c/Chart.yaml": {"./c/Chart.yaml": OF_CHART},
    "mkdir c; echo 'name: x' > c/Chart.yaml; pod c/more-values.yaml": {
        "./c/Chart.yaml": OF_CHART,
        "./c/more-values.yaml": OF_CHART,
    },
    "pod pod.yaml; sed -i '1i {{- if true }}' pod.yaml": {"./pod.yaml": "an unrendered template"},
    "pod pod.yaml; echo pod.yaml > .gitignore": {"./pod.yaml": "ignored by git"},
    "pod build/pod.yaml; echo build/ > .gitignore": {"./build/": "ignored by git"},
    "pod ../outside/pod.yaml; ln -s ../outside folder": {"./folder/": "a link to a folder"},
    "pod ../pod.yaml; ln -s ../pod.yaml pod.yaml": {"./pod.yaml": OUT},
    "ln -s /dev/zero pod.yaml": {"./pod.yaml": OUT},
    "mkfifo pod.yaml": {"./pod.yaml": "not a regular file"},
}


@pytest.mark.parametrize("script", HIDDEN)
def test_what_hides_an_object_is_counted(checkout: Path, script: str) -> None:
    prepare(script)
    codes = [run("check", ".", "--fail-on", one).code for one in ("deny", "warn", "unread", "skipped", "never")]
    assert codes == [0, 0, 1, 1, 0]
    ended = run("check", ".", "--fail-on", "skipped", "-o", "json")
    report = ended.json()
    assert ended.code == 1
    assert {one["file"]: one["reason"] for one in report["unread"]} == HIDDEN[script]
    assert [result["decision"] for result in report["results"]] == ["allowed"]
    folders = sum(name.endswith("/") for name in HIDDEN[script])
    unread = report["summary"]["unread"]
    assert (unread["folders"], unread["files"]) == (folders, len(HIDDEN[script]) - folders)
    assert sum(unread["reasons"].values()) == len(HIDDEN[script])
    # What an option leaves out is the user's choice.
    exclude = [word for file in HIDDEN[script] for word in ("--exclude", file.removeprefix("."))]
    ended = run("check", ".", "--fail-on", "skipped", "-o", "json", *exclude)
    assert (ended.code, {one["reason"] for one in ended.json()["unread"]}) == (0, {"excluded by --exclude"})


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ("namespace: gpu-operator", "exempt: the namespace is listed in exempt.namespaces"),
        (
            'annotations: {kubernetes.io/config.mirror: "1"}',
            "exempt: the pod mirrors a static pod, which a kubelet runs already",
        ),
    ],
)
def test_exempt_pod_passes(checkout: Path, metadata: str, reason: str) -> None:
    (checkout / "pod.yaml").write_text(DENIED.replace("name: p", f"name: p, {metadata}"))
    ended = run("check", "pod.yaml", "--fail-on", "unread", "-o", "json")
    (found,) = ended.json()["results"]
    assert (ended.code, found["decision"], found["reason"]) == (0, "allowed", reason)


def test_object_without_pods_fails_only_a_run_that_fails_on_skipped(checkout: Path) -> None:
    (checkout / "service.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")
    assert run("check", ".", "--fail-on", "unread").code == 0
    assert run("check", ".", "--fail-on", "skipped").code == 1


NO_MANIFESTS = """
echo 'services: {a: {}}' > compose.yaml; echo '[1]' > numbers.json; pod notes.txt
ln -s /dev/zero link.txt; mkfifo pipe; mkdir build; touch build/x.o x.o; echo '*.o' > .gitignore
"""


@pytest.mark.parametrize(
    "script",
    [
        "echo 'mode: audit' > .gpushare.yaml; printf 'apiVersion: gpushare-webhook/v1\\nkind: Facts\\n' > facts.yaml",
        "echo '{apiVersion: admission.k8s.io/v1, kind: AdmissionReview, response: {uid: a, allowed: true}}' > a.yaml",
        "mkdir -p a/b/c",
        NO_MANIFESTS,
    ],
    ids=["settings and facts", "review", "empty folders", "no manifests"],
)
def test_what_hides_nothing_does_not_count(checkout: Path, script: str) -> None:
    prepare(script)
    ended = run("check", ".", "--fail-on", "skipped")
    assert ended.code == 0, ended


UNREAD = {"files": 1, "folders": 1, "reasons": {"part of a Helm chart": 2}}


def test_each_format_with_a_summary_names_what_is_unread(checkout: Path) -> None:
    prepare(CHART)
    formats = ("text", "json", "junit", "sarif", "github")
    ended = {one: run("check", ".", "-o", one, "--fail-on", "skipped") for one in formats}
    assert {one.code for one in ended.values()} == {1}
    assert ended["json"].json()["summary"]["unread"] == UNREAD
    assert ended["sarif"].json()["runs"][0]["properties"]["summary"]["unread"] == UNREAD
    cases = ElementTree.fromstring(ended["junit"].out).iter("testcase")  # noqa: S314 - our own report
    skipped = {case.get("classname"): one.get("message") for case in cases for one in case.iter("skipped")}
    assert skipped == HIDDEN[CHART]
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
    prepare(CHART)
    files = ("ok/x.yaml", "c/templates/pod.yaml")
    assert run("check", *files, "--force-exclude").code == 0
    assert run("check", *files, "--force-exclude", "--fail-on", "skipped").code == 1
    assert run("check", *files, "--force-exclude", "--fail-on", "skipped", "--exclude", "c/").code == 0
    assert run("check", *files).code == 1


def test_link_out_of_the_folder_quotes_nothing(checkout: Path) -> None:
    Path("../secret.json").write_text('{"kind": "Pod", "password": "hunter2", "password": 1}')
    Path("pod.json").symlink_to("../secret.json")
    for form in ("text", "json", "junit", "sarif", "github"):
        ended = run("check", ".", "-o", form)
        assert "hunter2" not in ended.out + ended.err
        assert "password" not in ended.out + ended.err
