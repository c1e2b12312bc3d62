"""What tests of manifests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.manifests.repositories import git


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def work_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty work tree, which is the working directory of a user without settings of git."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    top = tmp_path / "top"
    git(tmp_path, "init", "--quiet", str(top))
    monkeypatch.chdir(top)
    return top
