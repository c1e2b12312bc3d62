"""The cache of built tools, and what happens where they are missing. Needs no cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.harness.cache import KEY_LENGTH, Recipe, ToolsMissingError

HERE = Path(__file__).parent
# Each run shows that built folders are found: it needs them.
pytestmark = pytest.mark.exhaustive


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/gpushare-webhook/cluster"


def _fill(folder: Path) -> None:
    (folder / "tool").write_text("built")


def test_built_folder_is_reused() -> None:
    with pytest.raises(ToolsMissingError, match=r"tool is not built .*: run `make cluster-tools`"):
        Recipe("tool", "1", _fill).find()
    folder = Recipe("tool", "1", _fill).make()
    assert (folder / "tool").read_text() == "built"
    assert Recipe("tool", "1", lambda _: pytest.fail("built again")).make() == folder
    assert Recipe("tool", "1", _fill).find() == folder


def test_interrupted_build_is_discarded(empty_cache: Path) -> None:
    def interrupted(folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Recipe("tool", "1", interrupted).make()
    assert not Recipe("tool", "1", interrupted).folder.exists()
    Recipe("tool", "1", _fill).make()
    assert sorted(path.name for path in empty_cache.iterdir()) == ["tool-1", "tool.lock"]


def test_unused_folders_are_removed_by_later_build() -> None:
    keys = ["a" * KEY_LENGTH, "b" * KEY_LENGTH, "c" * KEY_LENGTH]
    forgotten, recent = (Recipe("tool", key, _fill).make() for key in keys[:2])
    other = Recipe("tool-of-another-name", keys[0], _fill).make()
    for folder in (forgotten, other):
        os.utime(folder, (0, 0))
    Recipe("tool", keys[2], _fill).make()
    assert [folder.exists() for folder in (forgotten, recent, other)] == [False, True, True]


@pytest.mark.parametrize(("ci", "outcome"), [("", "1 skipped"), ("true", "1 error")])
def test_missing_tools_skip_tests_and_fail_them_in_ci(ci: str, outcome: str) -> None:
    one = HERE / "test_rotation_api.py::test_real_api_server_answers_like_the_fake"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(one)]
    done = subprocess.run(command, env=os.environ | {"CI": ci}, capture_output=True, text=True, check=False)
    assert outcome in done.stdout
    assert "run `make cluster-tools`" in done.stdout
    assert ("in CI a skip is a failure" in done.stdout) == (ci == "true")
    assert bool(done.returncode) == (ci == "true")
