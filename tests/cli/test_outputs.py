"""Several formats of one run, each in its own file or on standard output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import DATA
from tests.cli.run import run

PATIENCE = 30
POD = str(DATA / "good.yaml")


def test_several_formats_in_one_run(here: Path) -> None:
    ended = run("check", POD, "-o", "json=report.json", "-o", "text")
    assert (ended.code, ended.out) == (0, "1 object: 1 allowed\n")
    assert (here / "report.json").read_text() == run("check", POD, "-o", "json").out


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
    monkeypatch.setattr("webhook.cli.checking.evaluate", broken)
    ended = run("check", POD, "-o", "json=report.json", "-o", "text=missing/report.txt")
    assert ended.code == 2
    ended = run("check", POD, "-o", "json=report.json", "-o", "json")
    assert (ended.code, ended.out) == (3, "")
    assert [(file.name, file.read_text()) for file in here.iterdir()] == [("report.json", "before")]


CHECK_THAT_WAITS = """
import sys
import webhook.cli.checking as checking
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


def test_report_in_file_is_complete_when_something_is_denied(here: Path) -> None:
    assert run("check", str(DATA / "pods.yaml"), "-o", "json=report.json").code == 1
    assert json.loads((here / "report.json").read_text())["summary"]["denied"] == 2


def test_mutate_writes_formats_into_files(here: Path) -> None:
    ended = run("mutate", "-f", POD, "-o", "patch=edits.json", "-o", "diff=edits.diff")
    assert (ended.code, ended.out) == (0, "")
    assert (here / "edits.json").read_text() == run("mutate", "-f", POD, "-o", "patch").out
    assert (here / "edits.diff").read_text() == run("mutate", "-f", POD, "-o", "diff").out
