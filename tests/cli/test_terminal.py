"""Output on terminals: widths, colours, and the progress of a long run."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import in_terminal, without_styles
from tests.report.golden import INPUTS
from tests.report.reports import DENIAL, UNREADABLE, result
from webhook.cli import output
from webhook.cli.check import Progress
from webhook.report.lines import columns

pytestmark = pytest.mark.slow

COLOURED = {"NO_COLOR": ""}
PLAIN = {"NO_COLOR": "1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files of the recorded reports."""
    for name, content in INPUTS.items():
        (tmp_path / name).write_text(content)
    return tmp_path


@pytest.mark.parametrize("environment", [COLOURED, PLAIN], ids=["coloured", "plain"])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_report_fits_terminal(folder: Path, width: int, environment: dict[str, str]) -> None:
    files = ["denied.yaml", "warned.yaml", "wide.yaml", "skipped.yaml", "rendered.yaml"]
    lines = in_terminal("check", *files, width=width, folder=folder, environment=environment)
    shown = [without_styles(line) for line in lines]
    assert [line for line in shown if columns(line) > width] == []
    assert (lines != shown) == (environment is COLOURED)
    marked = [(shown[index - 1], line) for index, line in enumerate(shown) if line.lstrip(" |").startswith("^")]
    assert [value_above(*pair) for pair in marked] == ["2", '"3"', "true", "2", "4"]
    assert [line for line in shown if line.endswith("repository)")], "the end of the summary"
    assert shown[-1].endswith(".gpushare.yaml"), "the end of the assumption"


def value_above(source: str, carets: str) -> str:
    """Return what the carets mark in the line above them, by columns."""
    cells = "".join(character + "\0" * (columns(character) - 1) for character in source)
    return cells[carets.index("^") : len(carets)].replace("\0", "")


@pytest.mark.parametrize(
    ("environment", "on_terminal", "elsewhere"),
    [
        ({}, True, False),
        ({"NO_COLOR": ""}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": ""}, True, False),
        ({"CLICOLOR_FORCE": "1"}, True, True),
        ({"CLICOLOR_FORCE": "0"}, True, False),
        ({"CLICOLOR_FORCE": ""}, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}, False, False),
        ({"CLICOLOR": "0"}, False, False),
        ({"CLICOLOR": "1"}, True, False),
        ({"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, True, True),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True, True),
    ],
)
def test_environment_decides_on_colours(environment: dict[str, str], on_terminal: bool, elsewhere: bool) -> None:
    assert output.is_coloured(True, environment) == on_terminal
    assert output.is_coloured(False, environment) == elsewhere


@pytest.mark.parametrize(
    ("given", "width"), [("120", 120), ("0", 80), ("", 80), ("-5", 80), ("wide", 80), ("9" * 5000, 80), ("٣", 3)]
)
def test_width_is_that_of_columns_or_80(monkeypatch: pytest.MonkeyPatch, given: str, width: int) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setenv("COLUMNS", given)
    assert output.width() == width


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make standard error a terminal outside any CI system. A fixture could not: pytest replaces the stream again."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    return stream


class Clock:
    """The time of a test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_progress_appears_after_a_second_and_is_removed(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    shown = Progress()
    shown.count(result("allowed"))
    clock.now += 0.9
    shown.count(result("denied", DENIAL))
    assert stream.getvalue() == ""
    clock.now += 0.2
    shown.count(UNREADABLE)
    shown.count(result("allowed"))
    assert stream.getvalue() == "\r\x1b[Kchecked 2 objects in 2 files"
    shown.end()
    assert stream.getvalue().endswith("\r\x1b[K")
    length = len(stream.getvalue())
    clock.now += 10
    shown.count(result("allowed"))
    shown.end()
    assert len(stream.getvalue()) == length


@pytest.mark.parametrize(("variable", "value"), [("CI", "true"), ("TERM", "dumb")])
def test_no_progress_in_ci_or_without_cursor(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    stream = terminal(monkeypatch)
    monkeypatch.setenv(variable, value)
    shown = Progress()
    clock.now += 100
    shown.count(result("allowed"))
    shown.end()
    assert stream.getvalue() == ""


def test_no_progress_in_a_pipe(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    shown = Progress()
    clock.now += 100
    shown.count(result("allowed"))
    assert stream.getvalue() == ""
