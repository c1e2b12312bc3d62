"""The tools for the chart's tests exist, or the tests fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chart import tools
from tests.cluster.harness.cache import ToolsMissingError

pytestmark = pytest.mark.slow


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder on PATH, with an empty cache."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tools, "helm", tools.helm.__wrapped__)
    return tmp_path


def put(folder: Path, version: str) -> Path:
    program = folder / "helm"
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    return program


def test_helm_4_on_path_is_used(path: Path) -> None:
    program = put(path, "v4.1.0")
    assert tools.helm() == str(program)


@pytest.mark.parametrize("version", ["v3.19.0", "unknown"])
def test_other_helm_is_not_used_and_missing_go_fails(path: Path, version: str) -> None:
    put(path, version)
    with pytest.raises(ToolsMissingError, match="Go is not on PATH"):
        tools.helm()
