"""The rehearsal of a release without a release: provenance, machine, former version, failures and leftovers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from packaging.version import Version

from release.image.provenance import PARTS, main, predicate
from release.rehearsal import __main__ as rehearsal
from release.rehearsal import former, guide, left, machine, shape, tampering
from release.rehearsal.guide import FailedError
from tests.cluster.harness.cache import ToolsMissingError
from tests.project.repository import ROOT
from webhook import __version__

SOURCE = "https://git.example.com/gpushare"
DIGEST = "0" * 64


def test_provenance_names_commit_and_base_by_digest() -> None:
    made = predicate(f"debian@sha256:{DIGEST}", "1.0.0", SOURCE, "abc", datetime(2026, 1, 2, tzinfo=UTC))
    assert made["buildDefinition"]["resolvedDependencies"] == [
        {"uri": f"git+{SOURCE}@abc", "digest": {"gitCommit": "abc"}},
        {"uri": "docker://debian", "digest": {"sha256": DIGEST}},
    ]
    assert made["runDetails"]["metadata"] == {"finishedOn": "2026-01-02T00:00:00Z"}


@pytest.mark.parametrize("words", [["debian:trixie-slim", "1.0.0", SOURCE], []])
def test_provenance_needs_base_by_digest(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "usage: python -m release.image.provenance BASE VERSION SOURCE" in capsys.readouterr().err


def test_rehearsal_names_folder_and_process_that_it_left(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=f"the folder {tmp_path}"):
        left.check(tmp_path)
    gone = tmp_path / "gone"
    left.check(gone)
    command = [sys.executable, "-c", "print(flush=True); input()", str(gone)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # until it runs, /proc does not show its command
        with pytest.raises(FailedError, match=f"{process.pid}: "):
            left.check(gone)
        process.communicate(b"\n")


def test_provenance_refuses_image_of_uncommitted_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    committed = ("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=a")
    (tmp_path / "Dockerfile").touch()
    for arguments in (("init", "--quiet"), ("add", "--all"), committed):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, timeout=60)
    words = [f"debian@sha256:{DIGEST}", "1.0.0", SOURCE]
    (tmp_path / "notes").touch()
    assert main(words, tmp_path) == 0
    capsys.readouterr()
    (tmp_path / "webhook").mkdir()
    (tmp_path / "webhook" / "added.py").touch()
    assert main(words, tmp_path) == 1
    written = capsys.readouterr()
    assert (written.out, "?? webhook/" in written.err) == ("", True)


def test_provenance_checks_every_path_that_the_build_copies() -> None:
    included = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert set(included) <= set(PARTS)


def test_former_version_is_lower_than_current_one() -> None:
    """Step 1 of the guide sets it after a release; an upgrade to the same version would show nothing."""
    assert Version(former.VERSION) < Version(__version__)


def test_former_version_replaces_that_of_commit() -> None:
    assert former.versioned('"""X."""\n__version__ = "7.1.0-rc.1"\n') == f'"""X."""\n__version__ = "{former.VERSION}"\n'
    chart = "apiVersion: v2\nversion: 7.1.0\nappVersion: 7.1.0\n"
    assert former.versioned(chart) == f"apiVersion: v2\nversion: {former.VERSION}\nappVersion: {former.VERSION}\n"
    with pytest.raises(ValueError, match="no line states a version"):
        former.versioned("apiVersion: v2\n")


def test_machine_without_programs_is_refused_with_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ToolsMissingError, match=r"apt-get install --yes buildah debootstrap .* skopeo`$"):
        machine.check()


def test_machine_without_root_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ToolsMissingError, match="run it as root"):
        machine.check()


def test_clone_without_former_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(machine, "PACKAGES", {})
    monkeypatch.setattr(machine, "COMMIT", "0" * 40)
    with pytest.raises(ToolsMissingError, match="run `git fetch --unshallow`"):
        machine.check()


def test_guide_installs_every_package_of_rehearsal() -> None:
    (line,) = [line for line in guide.PAGE.read_text().splitlines() if "apt-get install" in line]
    assert set(machine.PACKAGES.values()) <= set(line.split())


@pytest.mark.parametrize(
    "problem",
    [
        subprocess.CalledProcessError(2, ["git"], stderr=b"no such commit"),
        subprocess.TimeoutExpired(["bash"], 900),
        FileNotFoundError(2, "No such file or directory", "buildah"),
        FailedError("the pods run another version"),
    ],
)
def test_failure_is_printed_and_folder_is_removed(
    problem: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(folder: Path) -> None:
        (folder / "file").touch()
        raise problem

    monkeypatch.setattr(rehearsal, "_rehearse_in", fail)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert rehearsal.main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"rehearse-release: {problem}")
    assert list(tmp_path.iterdir()) == []


def test_failure_does_not_hide_leftovers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(folder: Path) -> None:
        raise FailedError(f"the step failed in {folder.parent}")

    def leave(folder: Path) -> None:
        raise FailedError(f"a process is left in {folder.parent}")

    monkeypatch.setattr(rehearsal, "_rehearse_in", fail)
    monkeypatch.setattr(left, "remove", leave)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert rehearsal.main() == 1
    assert capsys.readouterr().err.splitlines() == [
        f"rehearse-release: the step failed in {tmp_path}",
        f"rehearse-release: a process is left in {tmp_path}",
    ]


def reader(folder: Path, **environment: str) -> guide.Reader:
    (folder / "records").mkdir()
    return guide.Reader(folder, os.environ | environment, folder / "records")


@pytest.mark.parametrize(("script", "message"), [("false", "1 false"), ("exit 3", "the shell ended early")])
def test_failed_step_names_line_of_guide(script: str, message: str, tmp_path: Path) -> None:
    step = guide.steps()[0]
    failing = replace(step, block=replace(step.block, script=f"{script}\n"))
    with pytest.raises(FailedError, match=f"^docs/how-to/release.md:{step.block.line}: {message}"):
        reader(tmp_path).follow(failing)


@pytest.mark.parametrize(
    ("status", "message"),
    [(0, "accepts an attack"), (1, "fails, but not with 'no signatures found': Error: connection refused")],
)
def test_refusal_for_another_reason_fails(status: int, message: str, tmp_path: Path) -> None:
    """A script stands for cosign, which the rehearsal builds."""
    program = tmp_path / "cosign"
    program.write_text(f"#!/bin/sh\necho 'Error: connection refused' >&2\nexit {status}\n")
    program.chmod(0o755)
    with pytest.raises(FailedError, match=message):
        tampering.refusal(reader(tmp_path, PATH=f"{tmp_path}:{os.environ['PATH']}"), "image:tag", "no signatures found")


def test_page_names_layers_of_image() -> None:
    assert list(shape.layers_of_page(2)) == []
    assert list(shape.layers_of_page(3)) == ["it has 3 layers, and image.md says two"]


@pytest.mark.parametrize(("words", "variable"), [(("{}",), ""), ((), "{}/storage.conf")])
def test_processes_that_use_folder_are_killed(words: tuple[str, ...], variable: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "input()", *(word.format(tmp_path / "used") for word in words)]
    environment = os.environ | {"CONTAINERS_STORAGE_CONF": variable.format(tmp_path / "used")}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        left.end(tmp_path / "other")
        assert process.poll() is None
        left.end(tmp_path / "used")
        assert process.wait(timeout=30) == -signal.SIGKILL


SIGNALLED = """
import os, signal, sys, tempfile
from pathlib import Path
from release.rehearsal import __main__ as rehearsal
def end(folder):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    finally:
        print("closed", folder.exists())
rehearsal._rehearse_in = end
sys.exit(rehearsal.main())
"""


def test_sigterm_closes_everything_and_removes_folder(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", SIGNALLED]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "closed True\n", "")
    assert list(tmp_path.iterdir()) == []
