"""The commands of the page on installing that need what its shell does not have: uv, or only gpushare-check on PATH."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.light.environments import CONSTRAINTS, Environment, installed
from tests.project import page_shell
from tests.project.pages import page_block
from tests.project.repository import ROOT

pytestmark = pytest.mark.slow

PAGE = "docs/how-to/install-the-command-line.md"


def test_page_shows_message_of_missing_command(light: Environment) -> None:
    shown = page_block("docs/how-to/install-the-command-line.md", "gpushare-webhook serve")
    program, *arguments = shown.commands()[0]
    ended = light.run(program, *arguments)
    assert (ended.returncode, ended.stderr) == (2, shown.output)


def test_page_counts_packages(light: Environment) -> None:
    (row,) = re.findall(r"^\| packages, itself included \| (\d+) \|", (ROOT / PAGE).read_text(), re.MULTILINE)
    assert int(row) == len(list(light.packages.glob("*.dist-info")))


@pytest.mark.exhaustive
def test_uv_installs_wheel(wheel: Path, tmp_path: Path) -> None:
    block = page_block("docs/how-to/install-the-command-line.md", "uv tool install")
    tools = installed(tmp_path / "tools", "uv")
    folder = tmp_path / "clone"
    (folder / "build" / "light").mkdir(parents=True)
    shutil.copy(wheel, folder / "build" / "light")
    shutil.copy(CONSTRAINTS, folder)
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_BIN_HOME": str(tmp_path / "bin")}
    environment = os.environ | home | {"PATH": f"{tools.folder / 'bin'}:{os.environ['PATH']}"}
    (ran,) = page_shell.run([block], folder, tmp_path / "record", ["bash"], environment)
    page_shell.check(block, ran)
    assert Environment(tmp_path).run("gpushare-webhook", "version").returncode == 0
