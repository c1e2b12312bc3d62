"""Tests of the command line run in the folder of their manifests, so that reports name plain files."""

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
    """An empty folder to write files in, and the one that the command runs in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
