"""The distribution, built from the tree and installed into environments of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.packaging.environments import Environment, build, installed
from tests.project.conftest import usable
from tests.project.repository import ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel. Skips the test without the registry from which `make` installed; in CI, that fails."""
    folder = tmp_path_factory.mktemp("pip")
    usable([sys.executable, "-m", "pip", "download", "hatchling", "--no-deps", f"--dest={folder}"])
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel without extras, at a path with a space."""
    return installed(tmp_path_factory.mktemp("an environment") / "plain", str(wheel))
