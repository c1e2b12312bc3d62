"""A clone of the repository, and the shells that run commands in copies of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.clone import make


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clone that tests copy."""
    folder = tmp_path_factory.mktemp("clone") / "gpushare-webhook"
    make(folder)
    return folder


def usable(command: list[str]) -> None:
    """Skip the test where a command fails that its shell needs; in CI, fail."""
    tried = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if tried.returncode:
        assert os.environ.get("CI") != "true", tried.stderr
        pytest.skip(tried.stderr.strip())


@pytest.fixture(scope="session")
def alone() -> list[str]:
    """The command of a shell with a network of its own, where the ports of a page are free."""
    command = ["unshare", *NAMESPACES, "--net", "bash", "-c", 'ip link set lo up && exec bash "$@"', "-"]
    usable([*command, "/dev/null"])
    return command


@pytest.fixture(scope="session")
def online(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of a shell that reaches the registry from which `make` installed."""
    usable(
        [sys.executable, "-m", "pip", "download", "hatchling", "--no-deps", f"--dest={tmp_path_factory.mktemp('pip')}"]
    )
    return ["unshare", *NAMESPACES, "bash"]


NAMESPACES = ("--map-root-user", "--pid", "--fork", "--kill-child")
"""What a shell has to itself: its processes, of which none outlives it."""
