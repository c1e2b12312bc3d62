"""Output on terminals: widths and colours."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import in_terminal, without_styles
from tests.report.golden import INPUTS
from webhook.cli import output
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
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True, True),
    ],
)
def test_environment_decides_on_colours(environment: dict[str, str], on_terminal: bool, elsewhere: bool) -> None:
    assert output.is_coloured(True, environment) == on_terminal
    assert output.is_coloured(False, environment) == elsewhere


@pytest.mark.parametrize(
    ("given", "width"), [("120", 120), ("0", 80), ("", 80), ("-5", 80), ("wide", 80), ("9" * 5000, 80)]
)
def test_width_is_that_of_columns_or_80(monkeypatch: pytest.MonkeyPatch, given: str, width: int) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setenv("COLUMNS", given)
    assert output.width() == width
