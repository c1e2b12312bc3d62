"""The cache of built tools, and what happens where they are missing. Needs no cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.harness import debian, gobuild
from tests.cluster.harness.cache import KEY_LENGTH, Recipe, ToolsMissingError, key_of
from tests.cluster.harness.waiting import wait_for

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


def test_second_builder_waits_for_the_first(empty_cache: Path) -> None:
    builds: list[Path] = []

    def second_builder_waits() -> bool:
        lock = f":{(empty_cache / 'tool.lock').stat().st_ino} "
        return any("-> FLOCK" in line and lock in line for line in Path("/proc/locks").read_text().splitlines())

    def slow(folder: Path) -> None:
        builds.append(folder)
        wait_for("the second builder to wait for the lock", second_builder_waits)
        _fill(folder)

    with ThreadPoolExecutor(2) as builders:
        made = list(builders.map(lambda _: Recipe("tool", "1", slow).make(), range(2)))
    assert made[0] == made[1]
    assert len(builds) == 1


def test_key_depends_on_names_and_contents(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub/a").write_text("1")
    keys = [key_of(source), key_of("1.36.3", source)]
    (source / "sub/a").write_text("2")
    keys.append(key_of(source))
    (source / "sub/a").rename(source / "sub/b")
    keys.append(key_of(source))
    assert len(set(keys)) == 4
    assert key_of(source) == keys[-1]


def test_missing_go_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ToolsMissingError, match="Go is not on PATH: install Go"):
        gobuild.etcd().make()


@pytest.mark.parametrize(("ci", "outcome"), [("", "1 skipped"), ("true", "1 error")])
def test_missing_tools_skip_tests_and_fail_them_in_ci(ci: str, outcome: str) -> None:
    one = HERE / "test_control_plane.py::test_service_account_token_has_only_its_rights"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(one)]
    done = subprocess.run(command, env=os.environ | {"CI": ci}, capture_output=True, text=True, check=False)
    assert outcome in done.stdout
    assert "run `make cluster-tools`" in done.stdout
    assert ("in CI a skip is a failure" in done.stdout) == (ci == "true")
    assert bool(done.returncode) == (ci == "true")


def _stand_in_for_apt(folder: Path, targets: str) -> None:
    """Put an apt-get on PATH that knows these index targets and that records nothing else."""
    folder.mkdir()
    (folder / "targets").write_text(targets)
    for program in ("apt-get", "dpkg"):
        (folder / program).write_text(f'#!/bin/sh\n[ "$1" = indextargets ] && /bin/cat {folder}/targets\nexit 0\n')
        (folder / program).chmod(0o755)


@pytest.mark.skipif(not debian.KEYS.is_file(), reason="needs the package debian-archive-keyring")
def test_image_packages_come_from_mirrors_of_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = "http://mirror.example.com/debian"
    suites = ("bookworm", "bookworm-updates", "bookworm-backports", "bookworm")
    _stand_in_for_apt(tmp_path / "bin", "".join(f"{mirror}/ {suite}\n" for suite in suites))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    options = debian.bare("trixie", tmp_path / "state")
    (sources,) = [one.partition("=")[2] for one in options if one.startswith("Dir::Etc::sourcelist=")]
    named = [line.rpartition("] ")[2] for line in Path(sources).read_text().splitlines()]
    assert named == [f"{mirror}/ trixie main", f"{mirror}/ trixie-updates main"]


def test_machine_without_debian_mirror_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _stand_in_for_apt(tmp_path / "bin", "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(ToolsMissingError, match="the image's Python comes from Debian trixie: apt needs package lists"):
        debian.bare("trixie", tmp_path / "state")
