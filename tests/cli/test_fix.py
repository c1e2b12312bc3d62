"""`check --fix`: the fixes of findings go into the files, and the report is about what is left."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.run import run

MIXED = """\
# Head.
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  hostIPC: true
  terminationGracePeriodSeconds: 0   # fast
  volumes:
  - {name: shm, emptyDir: {}}
  containers:
  - name: 'c'
    env:
    - {name: CUDA_MPS_PIPE_DIRECTORY, value: "/tmp/nvidia-mps"}
    volumeMounts:
    - {name: shm, mountPath: /dev/shm}
    resources: {limits: {nvidia.com/gpu: 2}}
"""


@pytest.fixture(autouse=True)
def named_cluster(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that say how GPUs are shared: without them, findings that depend on it are not fixed."""
    settings = tmp_path_factory.mktemp("settings") / "settings.yaml"
    settings.write_text("profile: device-plugin\n")
    monkeypatch.setenv("GPUSHARE_CONFIG", str(settings))


FIXED = (
    MIXED.replace("hostIPC: true", "hostIPC: false")
    .replace("Seconds: 0", "Seconds: 30")
    .replace('"/tmp/nvidia-mps"', '"/mps/nvidia.com/gpu/pipe"')
    .replace("gpu: 2", "gpu: 1")
)
BASELINE = "apiVersion: gpushare-webhook/v1\nkind: Baseline\nfindings: []\n"


@pytest.mark.parametrize(
    "form",
    [
        str,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.removesuffix("\n"),
        lambda text: f"---\n{text}---\n# Nothing.\n---\n{text}",
    ],
    ids=["plain", "CRLF", "BOM", "no line break at the end", "documents"],
)
def test_fix_edits_values_alone(here: Path, form: object) -> None:
    assert callable(form)
    (here / "a.yaml").write_bytes(form(MIXED).encode())
    ended = run("check", "a.yaml", "--fix")
    assert (here / "a.yaml").read_bytes().decode() == form(FIXED)
    assert ended.code == 0
    number = form(MIXED).count("hostIPC")
    assert ended.err.count(": fixed: GPS") == 4 * number
    assert ended.err.endswith(f"{4 * number} findings fixed in 1 file\n")
    assert "warn GPS005" in ended.out
    assert "deny" not in ended.out
    identity = (here / "a.yaml").stat().st_ino
    again = run("check", "a.yaml", "--fix")
    assert again.err == "0 findings fixed in 0 files\n"
    assert (again.out, (here / "a.yaml").stat().st_ino) == (ended.out, identity)


def test_fix_of_json(here: Path) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]},
    }
    (here / "a.json").write_text(json.dumps(pod, indent=1))
    assert run("check", "a.json", "--fix").code == 0
    assert (here / "a.json").read_text() == json.dumps(pod, indent=1).replace('"2"', '"1"')


def test_what_is_left_decides_exit_code(here: Path) -> None:
    (here / "a.yaml").write_text(MIXED)
    (here / "b.yaml").write_text(MIXED.replace("{nvidia.com/gpu: 2}", "&g {nvidia.com/gpu: 2}, requests: *g"))
    ended = run("check", ".", "--fix", "-o", "json", "-q")
    assert ended.code == 1
    assert ended.err == ""
    assert [one["decision"] for one in ended.json()["results"]] == ["warned", "denied"]
    assert (here / "a.yaml").read_text() == FIXED
    assert run("check", "a.yaml", "--fix", "--fail-on", "warn").code == 1


def test_selected_suppressed_and_accepted_findings_only(here: Path) -> None:
    (here / "a.yaml").write_text(MIXED)
    run("check", "a.yaml", "--fix", "--select", "GPS009")
    assert (here / "a.yaml").read_text() == MIXED.replace("hostIPC: true", "hostIPC: false")
    run("check", "a.yaml", "--write-baseline", "baseline.yaml")
    before = (here / "a.yaml").read_text()
    ended = run("check", "a.yaml", "--baseline", "baseline.yaml", "--fix")
    assert (ended.code, ended.err) == (0, "0 findings fixed in 0 files\n")
    assert (here / "a.yaml").read_text() == before


@pytest.mark.parametrize("options", [("-",), ("a.yaml", "--write-baseline", "b.yaml")])
def test_fix_refuses_what_it_cannot_keep(here: Path, options: tuple[str, ...]) -> None:
    (here / "a.yaml").write_text(MIXED)
    assert run("check", *options, "--fix", stdin=MIXED.encode()).code == 2
    assert (here / "a.yaml").read_text() == MIXED


@pytest.mark.parametrize("baseline", ["-", "pipe"])
def test_fix_refuses_baseline_that_can_be_read_only_once(here: Path, baseline: str) -> None:
    (here / "a.yaml").write_text(MIXED)
    os.mkfifo(here / "pipe")
    ended = run("check", "a.yaml", "--baseline", baseline, "--fix", stdin=BASELINE.encode())
    assert (ended.code, ended.out) == (2, "")
    assert "--fix reads the baseline several times; name a file, not standard input or a pipe" in ended.err
    assert (here / "a.yaml").read_text() == MIXED


def test_baseline_of_standard_input_serves_a_check(here: Path) -> None:
    (here / "a.yaml").write_text(FIXED)
    assert run("check", "a.yaml", "--baseline", "-", stdin=BASELINE.encode()).code == 0


def test_file_with_several_names_is_fixed_once(here: Path) -> None:
    (here / "b.yaml").write_text(MIXED)
    (here / "a.yaml").symlink_to("b.yaml")
    ended = run("check", ".", "b.yaml", "--fix", "-j", "2")
    assert ended.err.endswith("4 findings fixed in 1 file\n")
    assert (here / "b.yaml").read_text() == FIXED
    assert (here / "a.yaml").is_symlink()


def test_link_alone_is_an_error_in_every_format(here: Path) -> None:
    (here / "real").mkdir()
    (here / "real" / "b.yaml").write_text(MIXED)
    (here / "a.yaml").symlink_to("real/b.yaml")
    ended = run("check", "a.yaml", "--fix", "-o", "json")
    assert ended.code == 2
    assert "its path has a link" in ended.json()["errors"][0]["message"]
    assert ended.json()["results"][0]["decision"] == "denied"
    assert (here / "real" / "b.yaml").read_text() == MIXED
    assert [one.name for one in (here / "real").iterdir()] == ["b.yaml"]


def test_findings_that_depend_on_assumption_are_not_fixed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUSHARE_CONFIG")
    text = MIXED.replace("{nvidia.com/gpu: 2}", "{nvidia.com/gpu: 8}")
    (here / "a.yaml").write_text(text)
    ended = run("check", "a.yaml", "--fix")
    assert (here / "a.yaml").read_text() == text
    assert ended.code == 1
    assert "0 findings fixed in 0 files" in ended.err
    assert "assumed: nodes share GPUs through MPS" in ended.out
