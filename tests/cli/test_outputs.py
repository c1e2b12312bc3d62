"""Several formats of one run, each in its own file or on standard output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import DATA
from tests.cli.run import run

pytestmark = pytest.mark.slow

PATIENCE = 30
POD = str(DATA / "good.yaml")


def test_several_formats_in_one_run(here: Path) -> None:
    ended = run("check", POD, "-o", "json=report.json", "-o", "text")
    assert (ended.code, ended.out) == (0, "1 object: 1 allowed\n")
    assert (here / "report.json").read_text() == run("check", POD, "-o", "json").out


def test_file_whose_name_is_a_dash_is_no_standard_output(here: Path) -> None:
    assert run("check", POD, "-o", "text", "-o", "json=./-").out == "1 object: 1 allowed\n"
    assert (here / "-").read_text() == run("check", POD, "-o", "json").out


def test_file_alone_leaves_standard_output_empty(here: Path) -> None:
    assert run("check", POD, "-o", "text=report.txt").out == ""
    assert (here / "report.txt").read_text() == "1 object: 1 allowed\n"


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        (["docx"], '"docx" is not one of text, json'),
        (["json="], '"json=" names no file after "="'),
        (["json", "text"], "two formats for standard output; write one of them with FORMAT=FILE"),
        (["json=a", "text=a"], "two formats for a; write one of them with FORMAT=FILE"),
        (["json=a", "text=./a"], "two formats for ./a; write one of them with FORMAT=FILE"),
    ],
)
def test_wrong_output_is_wrong_usage(here: Path, outputs: list[str], problem: str) -> None:
    ended = run("check", POD, *(word for one in outputs for word in ("-o", one)))
    assert (ended.code, ended.out) == (2, "")
    assert problem in ended.err
    assert list(here.iterdir()) == []


def test_file_stays_when_run_fails(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise LookupError("on purpose")

    (here / "report.json").write_text("before")
    monkeypatch.setattr("webhook.dryrun.check.evaluate", broken)
    ended = run("check", POD, "-o", "json=report.json", "-o", "text=missing/report.txt")
    assert ended.code == 2
    ended = run("check", POD, "-o", "json=report.json", "-o", "json")
    assert (ended.code, ended.out) == (3, "")
    assert [(file.name, file.read_text()) for file in here.iterdir()] == [("report.json", "before")]


CHECK_THAT_WAITS = """
import sys
import webhook.dryrun.check as checking
from webhook.cli import main

def evaluate(*_):
    print("evaluating", flush=True)
    sys.stdin.read()

checking.evaluate = evaluate
main(["check", *sys.argv[1:]])
"""


@pytest.mark.slow
def test_sigterm_leaves_file_as_it_was(here: Path) -> None:
    (here / "report.json").write_text("before")
    command = [sys.executable, "-c", CHECK_THAT_WAITS, POD, "-o", "json=report.json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"evaluating\n"
        assert len(list(here.iterdir())) == 2
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (143, b"")
    assert [(file.name, file.read_text()) for file in here.iterdir()] == [("report.json", "before")]


def test_mutate_writes_formats_into_files(here: Path) -> None:
    ended = run("mutate", "-f", POD, "-o", "patch=edits.json", "-o", "diff=edits.diff")
    assert (ended.code, ended.out) == (0, "")
    assert (here / "edits.json").read_text() == run("mutate", "-f", POD, "-o", "patch").out
    assert (here / "edits.diff").read_text() == run("mutate", "-f", POD, "-o", "diff").out


@pytest.fixture
def checkout(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with nothing beside it."""
    (here / "checkout").mkdir()
    monkeypatch.chdir(here / "checkout")
    return here / "checkout"


LINKS = {
    "to a file": ("ln -s ../victim report.json", "report.json"),
    "to nothing": ("ln -s ../missing report.json", "{}/report.json"),
    "to a stream": ("ln -s /dev/stdout report.json", "report.json"),
    "to a pipe": ("mkfifo pipe; ln -s pipe report.json", "./report.json"),
    "many": ("i=0; while [ $i -lt 300 ]; do j=$((i + 1)); ln -s $j $i; i=$j; done", "0"),
    "to a folder": ("mkdir a; ln -s ../.. a/reports", "a/reports/victim"),
    "to a folder by a path from the root": ("mkdir a; ln -s ../.. a/reports", "{}/a/reports/victim"),
    "and back": ("mkdir -p ../deep/er; ln -s ../deep/er a", "a/../../victim"),
    "outside": ("ln -s victim ../report.json", "../report.json"),
}
"""The script that makes the links, and the name of the file, in which {} stands for the working directory."""


@pytest.mark.parametrize(("script", "name"), LINKS.values(), ids=LINKS)
def test_links_are_not_followed(checkout: Path, script: str, name: str) -> None:
    (checkout.parent / "victim").write_text("before")
    subprocess.run(["sh", "-euc", script], check=True, timeout=PATIENCE)
    name = name.format(checkout)
    found = sorted(checkout.parent.rglob("*"))
    ended = run("check", POD, "-o", f"json={name}")
    message = "cannot be written: its path has a link, which is not followed; name the place that the link leads to"
    assert (ended.code, ended.err) == (2, f"{name}: {message}\n")
    assert (checkout.parent / "victim").read_text() == "before"
    assert sorted(checkout.parent.rglob("*")) == found


def test_mutate_follows_no_link(checkout: Path) -> None:
    (checkout / "report.json").symlink_to(checkout.parent / "victim")
    assert run("mutate", POD, "-o", "diff=report.json").code == 2
    assert not (checkout.parent / "victim").exists()


def test_link_above_the_working_directory_is_followed(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "real" / "reports").mkdir(parents=True)
    (checkout / "link").symlink_to("real")
    monkeypatch.chdir(checkout / "real")
    assert run("check", POD, "-o", f"json={checkout}/link/reports/a.json").code == 0
    assert (checkout / "real" / "reports" / "a.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", ">(cat)"])
@pytest.mark.parametrize("destination", ["| cat", "> report.json; cat report.json"])
def test_streams_of_the_system_are_written(checkout: Path, name: str, destination: str) -> None:
    script = f"'{Path(sys.executable).with_name('gpushare-webhook')}' check '{POD}' -o json={name} {destination}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert (done.stdout, done.stderr) == (run("check", POD, "-o", "json").out, "")
