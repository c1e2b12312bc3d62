"""The wheel built from the tree, and virtual environments that contain only what pip installs."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from tests.project.repository import ROOT

CONSTRAINTS = ROOT / "constraints.txt"


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment without pip."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        """The folder of its packages."""
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def run(self, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run one of its programs, by a name such as `gpushare-webhook`, away from the repository."""
        return subprocess.run(
            [str(self.folder / "bin" / program), *map(str, arguments)],
            cwd=self.folder,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def pip(self, *arguments: str) -> str:
        """Run pip of the tests on it. Return what it prints; raises `AssertionError` with it where pip fails."""
        return pip("--python", str(self.python), *arguments)


def pip(*arguments: str) -> str:
    """Run pip. Return what it prints; raises `AssertionError` with it where pip fails."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def build(project: Path, folder: Path) -> Path:
    """Build the wheel of a project into an empty folder."""
    pip("wheel", "--quiet", "--no-deps", f"--build-constraint={CONSTRAINTS}", f"--wheel-dir={folder}", str(project))
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(folder: Path, *arguments: str) -> Environment:
    """Create an environment and install into it, in the versions of constraints.txt."""
    venv.create(folder)
    environment = Environment(folder)
    if arguments:
        environment.pip("install", "--quiet", f"--constraint={CONSTRAINTS}", *arguments)
    return environment
