"""Fixtures that change to the folder of the manifests, so that reports have plain file names."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(DATA)
    return DATA


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for files, and the working directory of the command."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
