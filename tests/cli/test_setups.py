"""Clusters of users from end to end: from their objects to facts, and to what `check` and `mutate` say with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.golden_setups import CONFIG_MAPS, SETUPS, checked, mutated, snapshot


@pytest.fixture
def setups(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(SETUPS)
    return SETUPS


@pytest.mark.parametrize("setup", CONFIG_MAPS)
def test_snapshot_of_setup_writes_its_facts(setup: str, tmp_path: Path) -> None:
    found = snapshot(setup, tmp_path)
    assert (found.code, found.err) == (0, "")
    assert found.out == (SETUPS / f"{setup}.facts.yaml").read_text()


@pytest.mark.parametrize("setup", CONFIG_MAPS)
def test_check_of_setup_says(setup: str, setups: Path) -> None:
    found = checked(setup)
    assert (found.code, found.err) == (1, "")
    assert found.out == (setups / f"{setup}.check.txt").read_text()


@pytest.mark.parametrize("setup", CONFIG_MAPS)
def test_mutate_of_setup_edits(setup: str, setups: Path) -> None:
    assert mutated(setup).out == (setups / f"{setup}.diff").read_text()
