"""The distribution gpushare-check, built from the tree and installed into an environment of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.light.environments import Environment, build, installed
from tests.project.conftest import usable
from tests.project.repository import ROOT


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip the test without the registry from which `make` installed; in CI, fail."""
    folder = tmp_path_factory.mktemp("pip")
    usable([sys.executable, "-m", "pip", "download", "hatchling", "--no-deps", f"--dest={folder}"])


@pytest.fixture(scope="session")
def wheel(registry: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of gpushare-check."""
    return build(ROOT / "light", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def light(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel and its dependencies, at a path with a space."""
    return installed(tmp_path_factory.mktemp("an environment") / "light", str(wheel))
