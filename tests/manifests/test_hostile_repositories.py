"""Repositories by an author you do not trust: git runs nothing of them, and where it fails every file is read.

`.git` cannot be committed, but an archive may hold it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests.repositories import Seen, commit, git, read, write
from webhook.manifests import Reason
from webhook.manifests import git as asked

pytestmark = pytest.mark.slow

OTHER_USER = 65534


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """A file that appears when a program of the repository runs."""
    return tmp_path / "a program has run"


@pytest.fixture
def program(tmp_path: Path, marker: Path) -> Path:
    """A program of the author."""
    file = tmp_path / "program"
    file.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
    file.chmod(0o755)
    return file


def ignoring(work_tree: Path) -> None:
    """Write a file that git ignores, and another."""
    write(work_tree, "a.yaml", "b.yaml", ".gitignore", **{".gitignore": "b.yaml\n"})


IGNORING = (["./a.yaml"], {"./b.yaml": Reason.IGNORED})


def with_file_monitor(work_tree: Path, program: Path) -> None:
    git(work_tree, "config", "core.fsmonitor", str(program))


def with_hooks(work_tree: Path, program: Path) -> None:
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc"):
        shutil.copy(program, work_tree / ".git" / "hooks" / hook)
    git(work_tree, "config", "core.hooksPath", str(work_tree / ".git" / "hooks"))


def with_other_programs(work_tree: Path, program: Path) -> None:
    for name in ("core.pager", "pager.ls-files", "core.editor", "core.askPass", "core.sshCommand", "core.gitProxy"):
        git(work_tree, "config", name, str(program))
    git(work_tree, "config", "alias.ls-files", f"!{program}")
    write(work_tree, ".gitattributes", **{".gitattributes": "* filter=theirs diff=theirs\n"})
    git(work_tree, "config", "filter.theirs.clean", str(program))
    git(work_tree, "config", "diff.theirs.textconv", str(program))


@pytest.mark.parametrize("prepare", [with_file_monitor, with_hooks, with_other_programs])
def test_programs_of_a_repository_do_not_run(
    work_tree: Path, program: Path, marker: Path, prepare: Callable[[Path, Path], None]
) -> None:
    ignoring(work_tree)
    commit(work_tree)
    prepare(work_tree, program)
    assert read(".") == IGNORING
    assert not marker.exists()


def test_file_monitor_would_run(work_tree: Path, program: Path, marker: Path) -> None:
    """What the tests above would miss if git changed."""
    with_file_monitor(work_tree, program)
    git(work_tree, "ls-files", "--others")
    assert marker.exists()


@pytest.mark.parametrize("url", ["ext::{}", "{}/nowhere"])
def test_git_fetches_nothing(work_tree: Path, program: Path, marker: Path, url: str) -> None:
    """In a partial clone, git fetches a .gitignore that is missing, by a command of the repository's settings."""
    write(work_tree, "b.yaml", ".gitignore", **{".gitignore": "b.yaml\n"})
    git(work_tree, "add", ".gitignore")
    commit(work_tree)
    git(work_tree, "update-index", "--skip-worktree", ".gitignore")
    blob = git(work_tree, "rev-parse", ":.gitignore").strip()
    (work_tree / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    (work_tree / ".gitignore").unlink()
    (work_tree / ".git" / "config").write_text(
        f"""\
[core]
	repositoryformatversion = 1
[extensions]
	partialClone = theirs
[protocol]
	allow = always
[protocol "ext"]
	allow = always
[remote "theirs"]
	promisor = true
	url = {url.format(program)}
	uploadpack = {program}
"""
    )
    assert read(".")[0] == ["./b.yaml"]
    assert not marker.exists()
    # Without the precautions it would run.
    subprocess.run(["git", "ls-files", "--others", "--exclude-standard"], capture_output=True, timeout=60, check=False)
    assert marker.exists()


def test_git_of_a_relative_folder_does_not_run(
    work_tree: Path, program: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignoring(work_tree)
    for folder in (".", "bin"):
        (work_tree / folder).mkdir(exist_ok=True)
        shutil.copy(program, work_tree / folder / "git")
    monkeypatch.setenv("PATH", f".:bin::{os.environ['PATH']}")
    assert read(".") == IGNORING
    monkeypatch.setenv("PATH", ".:bin:")
    seen = Seen(".")
    assert seen.files == ["./a.yaml", "./b.yaml"]
    assert seen.notices == [".: git could not say what it ignores (there is no git on the PATH): nothing is ignored"]
    assert not marker.exists()


def test_variables_of_git_change_nothing(work_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook of git has such variables."""
    ignoring(work_tree)
    other = tmp_path / "other"
    git(tmp_path, "init", "--quiet", str(other))
    variables = {
        "GIT_DIR": f"{other}/.git",
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": f"{other}/index",
        "GIT_CEILING_DIRECTORIES": str(work_tree),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.excludesFile",
        "GIT_CONFIG_VALUE_0": str(work_tree / ".gitignore"),
        "GIT_ALLOW_PROTOCOL": "ext",
        "GIT_TRACE": f"{tmp_path}/trace",
        "GIT_EXEC_PATH": str(other),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert read(".") == IGNORING
    assert not (tmp_path / "trace").exists()


def without_head(work_tree: Path) -> None:
    (work_tree / ".git" / "HEAD").unlink()


def with_broken_index(work_tree: Path) -> None:
    (work_tree / ".git" / "index").write_bytes(b"DIRC" + b"\xff" * 5000)


def with_broken_settings(work_tree: Path) -> None:
    (work_tree / ".git" / "config").write_text("[core\n::error::x\n")


def elsewhere(work_tree: Path) -> None:
    git(work_tree, "config", "core.worktree", "/")
    git(work_tree, "config", "core.bare", "true")


def without_folder(work_tree: Path) -> None:
    shutil.rmtree(work_tree / ".git")
    (work_tree / ".git").write_text("gitdir: /nowhere\n")


def with_another_file(work_tree: Path) -> None:
    shutil.rmtree(work_tree / ".git")
    (work_tree / ".git").write_text("no such thing")


def with_link_to_nowhere(work_tree: Path) -> None:
    shutil.rmtree(work_tree / ".git")
    (work_tree / ".git").symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (without_head, "not a git repository"),
        (with_broken_index, "index file corrupt"),
        (with_broken_settings, "bad config line"),
        (elsewhere, ""),
        (without_folder, "not a git repository: /nowhere"),
        (with_another_file, "invalid gitfile format"),
        (with_link_to_nowhere, ""),
    ],
)
def test_every_file_is_read_where_git_refuses(work_tree: Path, spoil: Callable[[Path], None], reason: str) -> None:
    ignoring(work_tree)
    spoil(work_tree)
    seen = Seen(".")
    assert (seen.files, seen.skipped) == (["./a.yaml", "./b.yaml"], {})
    (notice,) = seen.notices
    assert notice.startswith(".: git could not say what it ignores (")
    assert reason in notice
    assert notice.endswith("): nothing is ignored")
    assert Seen("a.yaml", "b.yaml", as_in_folder=True).files == ["a.yaml", "b.yaml"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder to another user")
def test_repository_of_another_user_is_not_asked(work_tree: Path, program: Path, marker: Path) -> None:
    ignoring(work_tree)
    with_file_monitor(work_tree, program)
    for path in (work_tree, *work_tree.rglob("*")):
        os.chown(path, OTHER_USER, OTHER_USER)
    seen = Seen(".")
    assert seen.files == ["./a.yaml", "./b.yaml"]
    assert "dubious ownership" in seen.notices[0]
    assert not marker.exists()


def test_bare_repository_in_a_folder_is_not_asked(work_tree: Path, program: Path, marker: Path) -> None:
    """Unlike `.git`, a change can commit such a folder."""
    ignoring(work_tree)
    git(work_tree, "init", "--quiet", "--bare", "bare")
    for name, value in {"bare": "false", "worktree": str(work_tree), "fsmonitor": str(program)}.items():
        git(work_tree / "bare", "config", "--file", "config", f"core.{name}", value)
    write(work_tree, "bare/c.yaml", "bare/info/exclude", **{"bare/info/exclude": "*\n"})
    assert read(".") == (["./a.yaml", "./bare/c.yaml"], {"./b.yaml": Reason.IGNORED})
    assert read("bare") == (["bare/c.yaml"], {})
    assert not marker.exists()


def with_pipe_as_gitignore(work_tree: Path) -> None:
    (work_tree / ".gitignore").unlink()
    os.mkfifo(work_tree / ".gitignore")


def with_pipe_as_settings(work_tree: Path) -> None:
    os.mkfifo(work_tree / "pipe")
    git(work_tree, "config", "include.path", str(work_tree / "pipe"))


def with_pipe_as_patterns(work_tree: Path) -> None:
    os.mkfifo(work_tree / "pipe")
    git(work_tree, "config", "core.excludesFile", str(work_tree / "pipe"))


@pytest.mark.parametrize("spoil", [with_pipe_as_gitignore, with_pipe_as_settings, with_pipe_as_patterns])
def test_git_that_waits_is_ended(
    work_tree: Path, spoil: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    ignoring(work_tree)
    git(work_tree, "init", "--quiet", "inner")
    write(work_tree, "inner/c.yaml")
    spoil(work_tree)
    monkeypatch.setattr(asked, "SECONDS", 0.5)
    seen = Seen(".")
    assert seen.files == ["./a.yaml", "./b.yaml", "./inner/c.yaml"]
    # The time is that of the run: the next repository gets none.
    message = "git could not say what it ignores (it takes longer than 0.5 s): nothing is ignored"
    assert seen.notices == [f".: {message}", f"./inner: {message}"]


def test_devices_as_patterns(work_tree: Path) -> None:
    write(work_tree, "a.yaml", "below/b.yaml")
    (work_tree / ".gitignore").symlink_to("/dev/ptmx")
    (work_tree / "below" / ".gitignore").symlink_to("/dev/zero")
    git(work_tree, "config", "core.excludesFile", "/dev/zero")
    seen = Seen(".")
    assert seen.files == ["./a.yaml", "./below/b.yaml"]


def test_git_is_not_asked_again_after_many_failures(work_tree: Path) -> None:
    for number in range(30):
        write(work_tree, f"{number:02}/.git", f"{number:02}/a.yaml", **{f"{number:02}/.git": "gitdir: /nowhere"})
    seen = Seen(".")
    assert len(seen.files) == 30
    assert len(seen.notices) == 20
    assert seen.notices[-1].endswith("nothing is ignored; git is not asked again in this run")
    assert not any("again" in notice for notice in seen.notices[:-1])


def fake(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program called git on the PATH: the real one never does what these tests are about."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("head -c 7000000 /dev/zero >&2; echo 'fatal: late' >&2; exit 128", "?"),
        ("echo ::error::x >&2; exit 3", "?:error::x"),
        ("echo 'warning: x' >&2; echo 'fatal: y' >&2; exit 128", "(y)"),
        ("exit 1", "it ends with 1"),
        ("exit 129", "it ends with 129"),
        ("kill -9 $$", "signal 9 ends it"),
        ("exec >&- 2>&-; sleep 60", "it takes longer than 0.5 s"),
        ("sleep 60 & exit 0", "it takes longer than 0.5 s"),
        ("sleep 60", "it takes longer than 0.5 s"),
    ],
)
def test_answers_that_are_none(
    work_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    ignoring(work_tree)
    fake(tmp_path / "bin", monkeypatch, script)
    if "sleep" in script:
        monkeypatch.setattr(asked, "SECONDS", 0.5)
    seen = Seen(".")
    assert seen.files == ["./a.yaml", "./b.yaml"]
    (notice,) = seen.notices
    assert reason in notice
    assert len(notice) < 500


def test_git_that_cannot_be_started(work_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ignoring(work_tree)
    fake(tmp_path / "bin", monkeypatch, "")
    (tmp_path / "bin" / "git").write_text("neither a script nor a program")
    seen = Seen(".")
    assert seen.files == ["./a.yaml", "./b.yaml"]
    assert "it cannot be started: Exec format error" in seen.notices[0]


def test_git_is_asked_once(work_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(work_tree, *(f"{folder}/{number}.yaml" for folder in ("a", "b", "c/d") for number in range(20)))
    git(work_tree, "init", "--quiet", "inner")
    write(work_tree, "inner/x.yaml")
    calls = tmp_path / "calls"
    real = shutil.which("git")
    fake(tmp_path / "bin", monkeypatch, f'echo "$@" >> "{calls}"; exec "{real}" "$@"')

    def count() -> int:
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return len(lines)

    assert len(read("a/1.yaml", "b/2.yaml")[0]) == 2
    assert len(read("a/1.yaml", exclude=("b",))[0]) == 1
    assert count() == 0
    assert len(read("a", "b", "c/*/*.yaml")[0]) == 60
    assert count() == 1
    assert len(Seen("a/1.yaml", "b/2.yaml", "c/d/3.yaml", as_in_folder=True).files) == 3
    assert count() == 1
    assert len(read(".", "inner", "a")[0]) == 61 + 1 + 20
    assert count() == 2
