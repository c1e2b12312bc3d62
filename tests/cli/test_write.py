"""`mutate --write`: files are edited in place, each as a whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.cli.run import run
from tests.cli.test_mutate_text import DENIED, LIST, MAP, edited
from tests.report.test_rewrite import POD
from webhook.cli.mutate import replace_content
from webhook.cli.output import beside
from webhook.diagnostics import InputError
from webhook.report.exit_codes import ExitCode

OTHER_USER = 65534
BOM = "\ufeff"


def last_lines(text: str) -> list[str]:
    """Return the two lines of the summary."""
    return text.splitlines()[-2:]


TEXTS = {
    "comments": f"# Head.\n{POD}---\n# Nothing.\n---\n{MAP}",
    "no line break at the end": POD.removesuffix("\n"),
    "CRLF": POD.replace("\n", "\r\n"),
    "BOM": f"{BOM}{POD}",
    "list": LIST,
    "JSON": json.dumps({"apiVersion": "v1", "kind": "List", "items": []}),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_write_edits_file_once(here: Path, text: str) -> None:
    file = here / "a.yaml"
    file.write_bytes(text.encode())
    ended = run("mutate", "a.yaml", "--write")
    after = edited(text)
    assert file.read_bytes().decode() == after
    assert (ended.code, ended.out) == (0, "")
    count = "0 files written, 1 unchanged" if after == text else "1 file written, 0 unchanged"
    assert text == TEXTS["JSON"] or last_lines(ended.err)[1] == count
    identity = file.stat().st_ino
    again = run("mutate", "a.yaml", "--write")
    assert (again.code, file.read_bytes().decode(), file.stat().st_ino) == (0, after, identity)
    assert again.err.endswith(("0 files written, 1 unchanged\n", "0 files written, 0 unchanged\n"))
    assert [one.name for one in here.iterdir()] == ["a.yaml"]


def test_text_that_cannot_be_edited_stays_and_is_an_error(here: Path) -> None:
    text = POD.replace("\n  name: p", " {name: p}")
    (here / "a.yaml").write_text(text)
    ended = run("mutate", "a.yaml", "--write")
    reason = "a mapping or list in braces or brackets cannot be edited; use -o yaml"
    assert f"a.yaml:3:11: Pod p: not edited: {reason}\n" in ended.err
    assert last_lines(ended.err)[1] == "0 files written, 0 unchanged, 1 not written"
    assert (ended.code, (here / "a.yaml").read_text()) == (2, text)


def test_write_equals_the_diff(here: Path) -> None:
    (here / "a.yaml").write_text(f"{DENIED}---\n# Kept.\n{POD}---\na: [\n---\nx: 1\n")
    (here / "b.yaml").write_text(POD)
    diff = run("mutate", ".", "-o", "diff").out
    copy = here.parent / "copy"
    shutil.copytree(here, copy)
    subprocess.run(["patch", "-p1", "--silent"], input=diff.encode(), cwd=copy, check=True)
    ended = run("mutate", ".", "--write", "-o", "diff")
    assert ended.out == diff
    assert ended.code == 2
    assert "Pod p is denied: GPS001" in ended.err
    for name in ("a.yaml", "b.yaml"):
        assert (here / name).read_text() == (copy / name).read_text()


def test_summary_counts_files(here: Path) -> None:
    for name, text in {"a": POD, "b": POD, "c": MAP, "d": DENIED}.items():
        (here / f"{name}.yaml").write_text(text)
    ended = run("mutate", ".", "--write")
    assert ended.code == 1
    assert last_lines(ended.err) == ["4 objects: 2 edited, 1 unchanged, 1 denied", "2 files written, 2 unchanged"]
    assert run("mutate", "a.yaml", "--write", "-q").err == ""


@pytest.mark.parametrize("mode", [0o600, 0o444, 0o755])
def test_write_keeps_mode_and_owner(here: Path, mode: int) -> None:
    file = here / "a.yaml"
    file.write_text(POD)
    if os.geteuid() == 0:
        os.chown(file, OTHER_USER, OTHER_USER)
    file.chmod(mode)
    owner = file.stat().st_uid, file.stat().st_gid
    assert run("mutate", "a.yaml", "--write").code == 0
    status = file.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (mode, *owner)
    assert file.read_text() == edited(POD)


def test_file_that_is_named_twice_is_written_once(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "a.yaml").write_text(POD)
    ended = run("mutate", "sub/a.yaml", "sub", "./sub/../sub/a.yaml", here / "sub" / "a.yaml", "--write")
    assert ended.code == 0
    assert last_lines(ended.err)[1] == "1 file written, 0 unchanged"
    assert (here / "sub" / "a.yaml").read_text() == edited(POD)


@pytest.mark.parametrize("name", ["-", "pipe"])
def test_write_refuses_streams(here: Path, name: str) -> None:
    os.mkfifo(here / "pipe")
    (here / "a.yaml").write_text(POD)
    ended = run("mutate", "a.yaml", name, "--write", stdin=POD.encode())
    assert (ended.code, ended.out) == (2, "")
    assert "--write edits files, and cannot edit " in ended.err
    assert (here / "a.yaml").read_text() == POD


def test_write_refuses_links(here: Path) -> None:
    (here / "real").mkdir()
    file = here / "real" / "a.yaml"
    file.write_text(POD)
    (here / "link.yaml").symlink_to(file)
    (here / "folder").symlink_to(here / "real")
    for name in ("link.yaml", "folder/a.yaml"):
        ended = run("mutate", name, "--write")
        assert ended.code == 2
        assert f"{name}: cannot be written: its path has a link, which is not followed" in ended.err
        assert last_lines(ended.err)[1] == "0 files written, 0 unchanged, 1 not written"
    assert file.read_text() == POD
    assert (here / "link.yaml").is_symlink()


LINK = "cannot be written: its path has a link, which is not followed; name the place that the link leads to"


@pytest.fixture
def elsewhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside the working directory, with a manifest at `out/a.yaml`."""
    for name in ("work", "out", "repo"):
        (here / name).mkdir()
    (here / "out" / "a.yaml").write_text(POD)
    monkeypatch.chdir(here / "work")
    return here


LINKS = {
    "in a repository": ("mkdir repo/.git; ln -s ../out repo/sub", "repo/sub/a.yaml"),
    "to another repository": ("mkdir repo/.git out/.git; ln -s ../out repo/sub", "repo/sub/a.yaml"),
    "to the working directory": (
        "echo 'gitdir: elsewhere' > repo/.git; ln -s ../work repo/sub; ln out/a.yaml work/a.yaml",
        "repo/sub/a.yaml",
    ),
    "outside any repository": ("ln -s ../out repo/sub", "repo/sub/a.yaml"),
    "and back": ("mkdir out/deep repo/.git; ln -s ../out/deep repo/sub", "repo/sub/../a.yaml"),
    "to a file": ("ln -s ../out/a.yaml repo/a.yaml", "repo/a.yaml"),
}


@pytest.mark.parametrize(("script", "named"), LINKS.values(), ids=LINKS)
def test_links_elsewhere_are_not_followed(elsewhere: Path, script: str, named: str) -> None:
    subprocess.run(["sh", "-euc", script], cwd=elsewhere, check=True, timeout=30)
    name = f"{elsewhere}/{named}"
    ended = run("mutate", "--write", name)
    assert ended.code == 2
    assert f"{name}: {LINK}\n" in ended.err
    assert (elsewhere / "out" / "a.yaml").read_text() == POD


def test_repository_may_be_reached_by_links(elsewhere: Path) -> None:
    (elsewhere / "repo" / "sub").mkdir()
    (elsewhere / "repo" / ".git").mkdir()
    (elsewhere / "first").symlink_to(elsewhere)
    (elsewhere / "second").symlink_to("first/repo")
    for name in ("first/repo/sub/a.yaml", "second/sub/a.yaml"):
        (elsewhere / "repo" / "sub" / "a.yaml").write_text(POD)
        assert run("mutate", elsewhere / name, "--write").code == 0
        assert (elsewhere / "repo" / "sub" / "a.yaml").read_text() == edited(POD)


def test_working_directory_may_be_reached_by_links(elsewhere: Path) -> None:
    (elsewhere / "work" / "a.yaml").write_text(POD)
    (elsewhere / "link").symlink_to("work")
    assert run("mutate", elsewhere / "link" / "a.yaml", "--write").code == 0
    assert (elsewhere / "work" / "a.yaml").read_text() == edited(POD)


def test_links_of_the_system_are_followed(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = elsewhere.parents[-2]  # directly below the root, as /tmp on macOS
    is_symlink = Path.is_symlink
    monkeypatch.setattr(Path, "is_symlink", lambda one: one == link or is_symlink(one))
    assert run("mutate", elsewhere / "out" / "a.yaml", "--write").code == 0
    assert (elsewhere / "out" / "a.yaml").read_text() == edited(POD)


def test_link_beside_its_file_is_no_error(here: Path) -> None:
    (here / "b.yaml").write_text(POD)
    for name in ("a.yaml", "c.yaml"):
        (here / name).symlink_to("b.yaml")
    ended = run("mutate", ".", "--write")
    assert ended.code == 0
    assert last_lines(ended.err)[1] == "1 file written, 0 unchanged"
    assert (here / "b.yaml").read_text() == edited(POD)


@pytest.mark.parametrize("name", [b"\xff.yaml", b"\xff/a.yaml"])
@pytest.mark.parametrize("named", [False, True], ids=["found in a folder", "named"])
def test_name_that_is_not_utf8_is_refused(here: Path, name: bytes, *, named: bool) -> None:
    file, other = here / os.fsdecode(name), here / name.decode(errors="replace")
    for one in (file, other):
        one.parent.mkdir(exist_ok=True)
    file.write_text(POD)
    message = "its path has U+FFFD, which stands for bytes that are not UTF-8; rename the file or folder"
    for _ in range(2):  # without the file of that name, and with it
        ended = run("mutate", "--write", file if named else ".")
        assert ended.code == 2
        assert f"{other if named else other.relative_to(here)}: cannot be written: {message}\n" in ended.err
        assert "no such file" not in ended.err
        assert file.read_text() == POD
        other.write_text(POD)
    assert other.read_text() == POD


def test_other_hard_link_keeps_old_text(here: Path) -> None:
    (here / "a.yaml").write_text(POD)
    (here / "b.yaml").hardlink_to(here / "a.yaml")
    assert run("mutate", "a.yaml", "--write").code == 0
    assert ((here / "a.yaml").read_text(), (here / "b.yaml").read_text()) == (edited(POD), POD)


@contextmanager
def unprivileged() -> Iterator[Path]:
    """Yield a folder to which a user who is not root may go, and be such a user."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    is_root = os.geteuid() == 0
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_read_only_folder_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with unprivileged() as folder:
        for name in ("a.yaml", "b.yaml"):
            (folder / name).write_text(POD)
        folder.chmod(0o555)
        monkeypatch.chdir(folder)
        if os.geteuid() == 0:
            os.seteuid(OTHER_USER)
        ended = run("mutate", ".", "--write")
        assert ended.code == 2
        assert "a.yaml: cannot be written: permission denied\n" in ended.err
        assert last_lines(ended.err)[1] == "0 files written, 0 unchanged, 2 not written"
        assert sorted(one.name for one in folder.iterdir()) == ["a.yaml", "b.yaml"]
        assert (folder / "a.yaml").read_text() == POD


def test_full_disk_leaves_file_as_it_was(here: Path) -> None:
    large = POD + "".join(f"# {number:60}\n" for number in range(1000))
    (here / "large.yaml").write_text(large)
    (here / "small.yaml").write_text(POD)
    limited = 'ulimit -f 8; exec "$@" -B -m webhook mutate . --write'
    ended = subprocess.run(["sh", "-c", limited, "sh", sys.executable], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "large.yaml: cannot be written: file too large\n" in ended.stderr
    assert last_lines(ended.stderr)[1] == "1 file written, 0 unchanged, 1 not written"
    assert (here / "large.yaml").read_text() == large
    assert (here / "small.yaml").read_text() == edited(POD)
    assert sorted(one.name for one in here.iterdir()) == ["large.yaml", "small.yaml"]


PAUSED = """
import os, select, signal, sys
from itertools import count
from webhook.cli import main

fsync = os.fsync
numbers = count(1)
signalled, writer = os.pipe()
os.set_blocking(writer, False)
signal.set_wakeup_fd(writer)  # ends the wait also if the signal arrives before it

def paused(descriptor):
    fsync(descriptor)
    if next(numbers) >= int(sys.argv[1]):
        print("written", flush=True)
        select.select([signalled], [], [], 60)

os.fsync = paused
main(sys.argv[2:])
"""
"""A command that pauses before it replaces a file, after as many files as its first word says."""


@pytest.mark.slow
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("words", [("mutate", "a.yaml", "--write"), ("mutate", "a.yaml", "-o", "yaml=b.yaml")])
def test_signal_removes_unfinished_file(here: Path, words: tuple[str, ...], signal_number: signal.Signals) -> None:
    (here / "a.yaml").write_text(POD)
    command = [sys.executable, "-c", PAUSED, "1", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        assert len(list(here.iterdir())) == 2
        process.send_signal(signal_number)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (128 + signal_number, b"")
    assert [(one.name, one.read_text()) for one in here.iterdir()] == [("a.yaml", POD)]


def test_output_restores_default_signal_actions(tmp_path: Path) -> None:
    with ExitStack() as ours:
        for number in (signal.SIGTERM, signal.SIGHUP):  # a closed loop of uvloop leaves its handlers
            ours.callback(signal.signal, number, signal.signal(number, signal.SIG_DFL))
        with ExitStack() as leftovers:
            beside(tmp_path / "a.yaml", leftovers)
            assert signal.SIG_DFL not in map(signal.getsignal, (signal.SIGTERM, signal.SIGHUP))
        assert {signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)} == {signal.SIG_DFL}


@pytest.mark.slow
def test_hang_up_is_ignored_under_nohup(here: Path) -> None:
    names = [f"{number}.yaml" for number in range(100)]
    for name in names:
        (here / name).write_text(POD)
    command = ["nohup", sys.executable, "-m", "webhook", "mutate", ".", "--write"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not any((here / name).stat().st_size != len(POD) for name in names):
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGHUP)
        process.communicate()
    assert process.returncode == ExitCode.OK
    assert {(here / name).read_text() for name in names} == {edited(POD)}


@pytest.mark.slow
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_leaves_whole_files(here: Path, signal_number: signal.Signals) -> None:
    names = [f"{number}.yaml" for number in range(9)]
    for name in names:
        (here / name).write_text(POD)
    command = [sys.executable, "-c", PAUSED, "4", "mutate", ".", "--write"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal_number)
        process.communicate(timeout=30)
    assert process.returncode in (128 + signal_number, -signal_number)
    assert [(here / name).read_text() for name in names] == [edited(POD)] * 3 + [POD] * 6
    assert sorted(one.name for one in here.iterdir()) == names


def test_file_that_has_changed_is_kept(here: Path) -> None:
    (here / "a.yaml").write_text("of another program")
    with pytest.raises(InputError, match="it has changed since it was read; run the command again"):
        replace_content("a.yaml", b"as it was read", b"new")
    assert (here / "a.yaml").read_text() == "of another program"
