"""Streams that are closed, full, empty, or named twice: one line of text and the right exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import DATA
from tests.cli.run import PATIENCE, run

pytestmark = pytest.mark.slow

POD = b"{apiVersion: v1, kind: Pod, metadata: {name: p}}"
CLOSED = "standard output is closed; redirect it to a file or to /dev/null\n"


def in_shell(redirection: str, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run a command with a redirection and return its exit code and output."""
    ended = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "webhook", *arguments],
        input=stdin,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


CHECK = ("check", "-f", str(DATA / "pods.yaml"))
WRONG = ("check", "-f", "missing")


@pytest.mark.parametrize(
    ("redirection", "arguments", "code", "said"),
    [
        (">&-", CHECK, 2, CLOSED),
        (">&-", ("mutate", "-f", str(DATA / "good.yaml")), 2, CLOSED),
        (">&-", ("--help",), 2, CLOSED),
        (">&- 2>&-", CHECK, 2, ""),
        ("<&- >&- 2>&-", CHECK, 2, ""),
        ("2>&-", WRONG, 2, ""),
        ("2>&-", ("--bogus",), 2, ""),
        ("2>/dev/full", WRONG, 2, ""),
        ("2>/dev/full", ("--bogus",), 2, ""),
        (">/dev/full", CHECK, 2, "cannot continue: No space left on device\n"),
        (">/dev/full", ("--help",), 2, "cannot continue: No space left on device\n"),
        (">/dev/full 2>/dev/full", CHECK, 2, ""),
        ("2>&-", CHECK, 1, ""),
        ("2>/dev/full", ("mutate", "-f", str(DATA / "pods.yaml"), "-o", "diff"), 1, ""),
        (
            "<&-",
            ("check", "-f", "-"),
            2,
            "<stdin>: standard input holds no object; did the command before the pipe fail?\n",
        ),
    ],
)
def test_closed_and_full_streams(redirection: str, arguments: tuple[str, ...], code: int, said: str) -> None:
    ended = in_shell(redirection, *arguments)
    assert (ended[0], ended[2]) == (code, said)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("json=report.json", "report.json: cannot be written: file too large\n"),
        ("json", "temporary file for standard output: cannot be written: file too large\n"),
    ],
)
def test_output_larger_than_its_limit(here: Path, output: str, said: str) -> None:
    (here / "pods.yaml").write_bytes(b"---\n".join([POD + b"\n"] * 5000))
    # -B: Python would cut off the files of its bytecode too, and could not read them any more.
    limited = f'ulimit -f 8; exec "$@" -B -m webhook check pods.yaml -o {output}'
    ended = subprocess.run(
        ["/bin/sh", "-c", limited, "sh", sys.executable], capture_output=True, timeout=PATIENCE, check=False
    )
    assert (ended.returncode, ended.stdout.decode(), ended.stderr.decode()) == (2, "", said)
    assert [file.name for file in here.iterdir()] == ["pods.yaml"]


def test_closed_standard_error_keeps_report(tmp_path: Path) -> None:
    code, out, _ = in_shell("2>&-", *CHECK)
    assert (code, out) == (1, run(*CHECK).out)


@pytest.mark.parametrize("command", ["check", "mutate"])
@pytest.mark.parametrize(
    "stdin", [b"", b" \n \n", b"# a comment\n", b"---\n---\n# nothing\n", b"null\n", b"\xef\xbb\xbf"]
)
def test_empty_standard_input_is_an_error(data: Path, command: str, stdin: bytes) -> None:
    for arguments in (["-f", "-"], ["-f", "good.yaml", "-f", "-"]):
        ended = run(command, *arguments, stdin=stdin)
        assert ended.code == 2
        assert ended.err.startswith("<stdin>: standard input holds no object; did the command before the pipe fail?\n")


def test_empty_files_are_an_error_if_all_inputs_are_empty(here: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        Path(name).write_text("# nothing\n")
    ended = run("check", "-f", "a.yaml", "-f", "b.yaml")
    assert ended.code == 2
    assert ended.err == "".join(f"{name}.yaml: no object in this file, nor in any other input\n" for name in "ab")
    Path("c.yaml").write_bytes(POD)
    assert run("check", "-f", ".").code == 0
    assert run("check", "-f", "missing", "-f", "a.yaml").err == "missing: no such file or folder\n"


@pytest.mark.parametrize(
    ("arguments", "naming"),
    [
        (("check", "-f", "-", "-f", "-"), "-f - and -f -"),
        (("check", "-f", "-", "--config", "-"), "-f - and --config -"),
        (("mutate", "-f", "a.yaml", "-f", "-", "--facts", "-"), "-f - and --facts -"),
        (("check", "-f", "-", "--config", "-", "--facts", "-"), "-f - and --config - and --facts -"),
        (("mutate", "-f", "a.yaml", "--config", "-", "--facts", "-"), "--config - and --facts -"),
        (("serve", "--config", "-", "--facts", "-"), "--config - and --facts -"),
    ],
)
def test_standard_input_named_twice_is_a_usage_error(arguments: tuple[str, ...], naming: str) -> None:
    ended = run(*arguments, stdin=POD)
    assert (ended.code, ended.out) == (2, "")
    said = f"Error: {naming}: standard input can be read only once; name a file instead"
    assert ended.err.splitlines()[-1] == said


@pytest.mark.parametrize("command", ["check", "mutate"])
@pytest.mark.parametrize("namespace", ["Bad_NS!", "a.b", "-a", "x" * 64, "a\nb", "a/b", " "])
def test_invalid_namespace_is_a_usage_error(command: str, namespace: str) -> None:
    ended = run(command, "-f", "-", "-n", namespace, stdin=POD)
    assert (ended.code, ended.out) == (2, "")
    said = ended.err.splitlines()[-1]
    assert said.startswith("Error: Invalid value for '-n' / '--namespace': must be a namespace's name")


@pytest.mark.parametrize("namespace", ["a", "team-a", "0", "x" * 63, ""])
def test_valid_namespace(namespace: str) -> None:
    (result,) = run("check", "-f", "-", "-n", namespace, "-o", "json", stdin=POD).json()["results"]
    assert result["object"]["namespace"] == namespace


def test_completion_to_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GPUSHARE_WEBHOOK_COMPLETE", "bash_source")
    assert in_shell(">/dev/full") == (2, "", "cannot continue: No space left on device\n")
