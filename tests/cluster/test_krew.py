"""The plugin that `make krew` builds, installed by krew and called by kubectl. Needs no cluster."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import gobuild
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.tools import kubernetes_version
from tests.project import clone, page_shell
from tests.project.pages import page_block

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.fixture
def kubectl(tmp_path: Path) -> Path:
    """A folder with kubectl and krew."""
    programs = tmp_path / "programs"
    programs.mkdir()
    try:
        (programs / "kubectl").symlink_to(gobuild.kubernetes(kubernetes_version()).find() / "kubectl")
        (programs / "kubectl-krew").symlink_to(gobuild.krew().find() / "kubectl-krew")
    except ToolsMissingError as reason:
        pytest.skip(str(reason))
    return programs


def environment(folder: Path, programs: Path) -> Mapping[str, str]:
    """The environment of a reader who has set up krew and installed nothing with it."""
    reader = clone.reader(folder)
    krew = folder.parent / "krew"
    path = f"{krew}/bin:{programs}:{reader['PATH'].partition(':')[2]}"
    return reader | {"PATH": path, "KREW_ROOT": str(krew), "KREW_NO_UPGRADE_CHECK": "1", "PYTHONPATH": ""}


FULL = [sys.executable, "-m", "webhook"]
"""The full distribution, from the tree."""


def report(program: list[str], folder: Path, variables: Mapping[str, str]) -> tuple[int, str]:
    """The exit code and the JSON report of a program about the examples."""
    command = [*program, "check", "-R", "examples", "-o", "json"]
    ended = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert json.loads(ended.stdout)["summary"]["denied"] > 0, ended.stderr
    return ended.returncode, ended.stdout


def test_krew_installs_plugin(kubectl: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gpushare-webhook"
    clone.make(folder)
    block = page_block("docs/how-to/install-the-command-line.md", "kubectl krew install")
    variables = environment(folder, kubectl)
    (ran,) = page_shell.run([block], folder, tmp_path / "record", ["bash"], variables)
    page_shell.check(block, ran)
    assert "Installed plugin: gpushare\n" in ran.err
    assert report([str(kubectl / "kubectl"), "gpushare"], folder, variables) == report(FULL, folder, variables)
    (built,) = (folder / "build" / "krew").glob("*.tar.gz")
    with tarfile.open(built) as archive:
        compiled = [name for name in archive.getnames() if name.startswith("lib/yaml/_yaml.cpython-")]
    assert len(compiled) == 4
