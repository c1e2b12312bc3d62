"""The launcher of the krew plugin: it finds its folder and a Python that the archive has libraries for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from krew.archive import LAUNCHER, archive
from krew.platforms import PLATFORMS, PYTHONS
from tests.light.environments import Environment
from tests.project.repository import ROOT
from webhook import __version__

pytestmark = pytest.mark.slow

REFUSED = "#!/bin/sh\necho 'python3: command not found' >&2\nexit 127\n"
"""A Python that does not start, such as a program of pyenv for a version that is not selected."""


@pytest.fixture(scope="module")
def plugin(light: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked plugin, for this Python alone, at a path with a space."""
    files = (file for file in light.packages.rglob("*") if file.is_file() and file.suffix != ".pyc")
    libraries = {file.relative_to(light.packages).as_posix(): file.read_bytes() for file in files}
    folder = tmp_path_factory.mktemp("a store")
    packed = folder.with_suffix(".tar.gz")
    packed.write_bytes(archive(libraries, PLATFORMS[0], 0))
    with tarfile.open(packed) as tar:
        tar.extractall(folder, filter="data")
    return folder


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder for PATH with what the launcher calls, and no Python that starts."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in ("sh", "dirname", "readlink"):
        found = shutil.which(program)
        assert found is not None
        (folder / program).symlink_to(found)
    (folder / "python3").write_text(REFUSED)
    (folder / "python3").chmod(0o755)
    return folder


def run(
    launcher: Path, *arguments: object, path: Path | str = os.environ["PATH"], **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(launcher), *map(str, arguments)],
        env={"PATH": str(path)} | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_launcher_names_every_supported_python() -> None:
    text = (ROOT / "krew" / LAUNCHER).read_text()
    (tried,) = re.findall(r"^for python in python3 (.*); do$", text, re.MULTILINE)
    assert tried.split() == [f"python{version}" for version in reversed(PYTHONS)]
    assert f"no CPython {', '.join(PYTHONS[:-1])} or {PYTHONS[-1]} for @PLATFORM@" in text


@pytest.mark.parametrize("link", ["absolute", "relative", "two links"])
def test_plugin_runs_by_link(plugin: Path, tmp_path: Path, link: str) -> None:
    first, second = tmp_path / LAUNCHER, tmp_path / "other"
    target = plugin / LAUNCHER
    first.symlink_to(target if link == "absolute" else os.path.relpath(target, tmp_path))
    second.symlink_to(first.name)
    ended = run(second if link == "two links" else first, "version")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"gpushare-webhook {__version__}\n", "")


def test_next_python_is_used_where_first_does_not_start(plugin: Path, programs: Path) -> None:
    (programs / f"python{PYTHONS[0]}").symlink_to(sys.executable)
    ended = run(plugin / LAUNCHER, "check", ROOT / "examples" / "storm.yaml", path=programs)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "GPS001" in ended.stdout


def test_plugin_names_pythons_where_none_is_supported(plugin: Path, programs: Path) -> None:
    ended = run(plugin / LAUNCHER, "version", path=programs)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "kubectl gpushare: PATH has no CPython 3.11, 3.12, 3.13 or 3.14 for linux/amd64 with glibc; "
        "install one, for example as python3\n"
    )


def test_libraries_of_archive_come_first(plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('another click')\n")
    ended = run(plugin / LAUNCHER, "version", PYTHONPATH=str(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, "")
