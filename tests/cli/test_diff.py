"""`mutate -o diff`: a diff that `git apply` and `patch -p1` accept, byte for byte."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from tests.cli.run import program, run
from tests.cli.terminal import in_terminal
from tests.fixture import Fixture, evaluator_of, load_all
from tests.remedies import CLASS_MUST_EXIST
from tests.report.rewriting import FILE, expected, mutations, splices, values
from tests.report.test_rewrite import POD, files
from webhook.report.mutate import MutateFormat
from webhook.report.mutation import Destination
from webhook.report.rewrite import EditedFile, Mutation, applied

pytestmark = pytest.mark.slow

APPLY = {"git apply": ["git", "apply"], "patch": ["patch", "-p1", "--silent"]}
every_tool = pytest.mark.parametrize("tool", APPLY.values(), ids=APPLY)


def apply(tool: list[str], diff: str | bytes, folder: Path) -> None:
    given = diff.encode() if isinstance(diff, str) else diff
    ended = subprocess.run(tool, input=given, cwd=folder, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def diff_of(*files: list[Mutation]) -> str:
    """Return the diff of files, by their objects."""
    writer = MutateFormat.DIFF.writer(Destination())
    pieces = [piece for one in files for piece in writer.file(EditedFile(one))]
    return "".join(piece for piece in pieces if isinstance(piece, str))


FORMS: dict[str, Callable[[Any], str]] = {
    "block": lambda value: yaml.safe_dump(value, sort_keys=False),
    "CRLF": lambda value: yaml.safe_dump(value, sort_keys=False, indent=4).replace("\n", "\r\n").removesuffix("\r\n"),
}


def _mutations(data: bytes, fixture: Fixture) -> list[Mutation]:
    return mutations(data, evaluator_of(fixture), fixture.namespace, f"{fixture.name}.yaml")


EACH_IN_TURN = "each in turn"


@pytest.mark.slow
@pytest.mark.exhaustive(every=len(FORMS) + 1)
@pytest.mark.parametrize("form", [EACH_IN_TURN, *FORMS])
def test_diff_of_fixtures_applies(here: Path, form: str) -> None:
    forms = cycle(FORMS.values() if form == EACH_IN_TURN else [FORMS[form]])
    edited = [
        (fixture, next(forms)(fixture.object).encode())
        for fixture in load_all()
        if any(one.operations for one in _mutations(json.dumps(fixture.object).encode(), fixture))
    ]
    assert len(edited) > 150
    diff = diff_of(*(_mutations(data, fixture) for fixture, data in edited))
    for tool in APPLY.values():
        for fixture, data in edited:
            file = here / f"{fixture.name}.yaml"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(data)
        apply(tool, diff, here)
        for fixture, data in edited:
            result = values((here / f"{fixture.name}.yaml").read_bytes())
            assert result == expected(data, evaluator_of(fixture), fixture.namespace), fixture.name


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=files())
def test_diff_of_any_style_applies(here: Path, data: bytes) -> None:
    edited = mutations(data)
    diff = diff_of(edited)
    for tool in APPLY.values():
        (here / FILE).write_bytes(data)
        if diff:
            apply(tool, diff, here)
        assert (here / FILE).read_bytes() == applied(data, splices(data, edited))


@every_tool
def test_diff_of_several_files_applies_from_a_folder(here: Path, tool: list[str]) -> None:
    subprocess.run(["git", "init", "--quiet"], check=True)
    names = ["a b.yaml", 'q"uote\\.yaml', "grün.yaml", "sub/tab\there.yaml", "sub/##[x.yaml", "plain.yml"]
    below = here / "below"
    (below / "sub").mkdir(parents=True)
    for name in names:
        (below / name).write_text(f"{POD}---\n{POD}")
    os.chdir(below)
    ended = run("mutate", "-R", "-f", ".", "-o", "diff")
    assert (ended.code, ended.err) == (0, f"{CLASS_MUST_EXIST}\n12 objects: 12 edited\n")
    apply(tool, ended.out, below)
    for name in names:
        assert values((below / name).read_bytes()) == expected(f"{POD}---\n{POD}".encode())
    assert run("mutate", "-R", "-f", ".", "-o", "diff").out == ""


@every_tool
def test_absolute_names_of_files_below_the_working_directory(here: Path, tool: list[str]) -> None:
    (here / "pod.yaml").write_text(POD)
    diff = run("mutate", "-f", here / "pod.yaml", "-f", "./pod.yaml", "-o", "diff").out
    assert diff.count("--- a/pod.yaml\n") == 1
    apply(tool, diff, here)


def test_file_elsewhere_is_named_from_the_root(here: Path) -> None:
    (here / "pod.yaml").write_text(POD)
    (here / "work").mkdir()
    os.chdir(here / "work")
    diff = run("mutate", "-f", "../pod.yaml", "-o", "diff").out
    assert diff.startswith(f"--- a{here}/pod.yaml\n")


@every_tool
def test_standard_input_is_named_stdin(here: Path, tool: list[str]) -> None:
    (here / "stdin").write_text(POD)
    diff = run("mutate", "-f", "-", "-o", "diff", stdin=POD.encode()).out
    assert diff.startswith("--- a/stdin\n+++ b/stdin\n")
    apply(tool, diff, here)
    assert values((here / "stdin").read_bytes()) == expected(POD.encode())


@every_tool
def test_bytes_of_the_file_reach_the_pipe(here: Path, tool: list[str]) -> None:
    # An escape sequence in a document that cannot be read, next to one that gets edits.
    data = f"{POD}    # \u202e tab\there\r\n---\nx: \x1b[31m\n".encode()
    (here / "pod.yaml").write_bytes(data)
    ended = program("mutate", "-f", "pod.yaml", "-o", "diff")
    assert ended.returncode == 2
    assert b"\x1b[31m" in ended.stdout
    apply(tool, ended.stdout, here)
    assert values((here / "pod.yaml").read_bytes()) == expected(data)


def on_terminal(folder: Path, **environment: str) -> str:
    """The diff of `pod.yaml` on a terminal."""
    arguments = ("mutate", "-f", "pod.yaml", "-o", "diff")
    return "\n".join(in_terminal(*arguments, width=80, folder=folder, environment=environment))


def test_terminal_gets_colours(here: Path) -> None:
    (here / "pod.yaml").write_text(POD)
    shown = on_terminal(here)
    assert "\x1b[32m+  runtimeClassName: nvidia\x1b[0m" in shown
    assert "\x1b[36m@@" in shown


def test_terminal_gets_no_unprintable_character(here: Path) -> None:
    (here / "pod.yaml").write_bytes(f"{POD}    # \u202e\n".encode())
    shown = on_terminal(here)
    assert "\u202e" not in shown
    problem = "pod.yaml:9:1: no diff on a terminal: a character of this line is not printable"
    assert problem in shown
    assert "runtimeClassName" not in shown
    (here / "pod.yaml").write_bytes(f"\ufeff{POD}    # tab\there\n".replace("\n", "\r\n").encode())
    assert "runtimeClassName" in on_terminal(here, NO_COLOR="1")


@pytest.mark.parametrize("line", ["  ::error::x", "    # ##[error]x", "  x\r    ::error::x"])
def test_command_for_a_ci_system_keeps_a_diff_from_a_stream(here: Path, line: str) -> None:
    text = POD.replace("spec:\n", "spec:\n  z: |\n  " + line + "\n") if "::" in line else f"{POD}{line}\n"
    (here / "pod.yaml").write_bytes(text.encode())
    ended = run("mutate", "-f", "pod.yaml", "-o", "diff", "-o", "diff=edits.diff")
    assert (ended.code, ended.out) == (2, "")
    assert "no diff here: a CI system would read this line as a command; use -o diff=FILE\n" in ended.err
    apply(["git", "apply", "edits.diff"], "", here)
    assert values((here / "pod.yaml").read_bytes()) == expected(text.encode())


def test_text_in_another_encoding_is_named(here: Path) -> None:
    (here / "pod.yaml").write_bytes(f"{POD}---\n# ".encode() + b"\xe9\n")
    ended = run("mutate", "-f", "pod.yaml", "-o", "diff")
    assert "pod.yaml:10:1: no diff: this line is not UTF-8 text\n" in ended.err
    assert (ended.code, ended.out) == (2, "")


def test_object_that_cannot_be_edited_is_an_error(here: Path) -> None:
    (here / "pod.yaml").write_text(f"{POD}---\n{POD}    ? env\n")
    ended = run("mutate", "-f", "pod.yaml", "-o", "diff", "-o", "diff=edits.diff")
    problem = 'pod.yaml:18:10: Pod p: no diff: a key after "?" has no value; write ": null" below it; use -o yaml\n'
    assert ended.err == f"{problem}{CLASS_MUST_EXIST}\n2 objects: 2 edited; 1 error\n"
    assert ended.code == 2
    assert ended.out.count("+  runtimeClassName") == 1
