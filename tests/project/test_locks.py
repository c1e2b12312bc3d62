"""Libraries are locked: the versions of constraints.txt, complete, by the digests of their wheels."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import integrations.lock
import release.image.lock
from release.lock import Lock
from tests.project.repository import ROOT, project
from tests.project.test_build import dependencies

pytestmark = pytest.mark.slow

LIBRARIES = ROOT / "release" / "image" / "libraries.sh"
LOCKS = [release.image.lock.LIBRARIES, integrations.lock.LIBRARIES]
COMMAND_LINE: list[str] = project()["project"]["dependencies"]
TARGETS = [(lock, python, platform) for lock in LOCKS for python in lock.pythons for platform in lock.platforms]


def of(lock: Lock) -> list[str]:
    """What a lock is a lock of."""
    return COMMAND_LINE if lock is integrations.lock.LIBRARIES else dependencies()


def pins(text: str) -> dict[str, str]:
    """Versions by canonical name."""
    return {
        canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE)
    }


def closure(requirements: list[str], python: str, platform: str) -> set[str]:
    """The libraries that requirements need on a target, by the metadata of those that are installed here."""
    machine, _, system = platform.partition("-")
    is_macos = "darwin" in system
    environment = {name: str(value) for name, value in default_environment().items()} | {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "darwin" if is_macos else "linux",
        "platform_system": "Darwin" if is_macos else "Linux",
        "platform_machine": "arm64" if is_macos and machine == "aarch64" else machine,
    }
    wanted = [(Requirement(one), "") for one in requirements]
    found: set[tuple[str, str]] = set()
    while wanted:
        requirement, extra = wanted.pop()
        if requirement.marker and not requirement.marker.evaluate({**environment, "extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for one in {"", *requirement.extras}:
            if (name, one) not in found:
                found.add((name, one))
                wanted += [(Requirement(line), one) for line in requires(name) or ()]
    return {name for name, _ in found}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.target)
def test_locked_versions_equal_constraints(lock: Lock) -> None:
    constraints = pins((ROOT / "constraints.txt").read_text())
    locked = pins(lock.file.read_text())
    assert locked == {name: constraints[name] for name in locked}


@pytest.mark.parametrize(("lock", "python", "platform"), TARGETS)
def test_lock_contains_exactly_what_is_needed(lock: Lock, python: str, platform: str) -> None:
    assert set(pins(lock.file.read_text())) == closure(of(lock), python, platform)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.target)
def test_every_library_is_locked_by_digest(lock: Lock) -> None:
    text = lock.file.read_text()
    assert text.startswith(lock.about)
    entries = text.removeprefix(lock.about).replace(" \\\n", "").splitlines()
    form = re.compile(r"[\w.-]+==[\w.]+(    --hash=sha256:[0-9a-f]{64})+")
    assert [entry for entry in entries if not form.fullmatch(entry)] == []


def test_constraints_have_no_setuptools() -> None:
    # A new environment of Python 3.11 has an old one, which nothing here needs.
    assert "setuptools" not in pins((ROOT / "constraints.txt").read_text())


def wheel(folder: Path) -> str:
    """Make a wheel of an empty library, `empty` 1.0; return its digest."""
    file = folder / "empty-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("empty.py", "")
        archive.writestr("empty-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: empty\nVersion: 1.0\n")
        archive.writestr("empty-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("empty-1.0.dist-info/RECORD", "empty.py,,\n")
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        (" --hash=sha256:{digest}", ""),
        (f" --hash=sha256:{'0' * 64}", "THESE PACKAGES DO NOT MATCH THE HASHES"),
        ("", "Hashes are required in --require-hashes mode"),
    ],
    ids=["digest matches", "another digest", "no digest"],
)
def test_library_installs_only_with_its_locked_digest(option: str, complaint: str, tmp_path: Path) -> None:
    script = shutil.copy(LIBRARIES, tmp_path)
    (tmp_path / "requirements.txt").write_text(f"empty==1.0{option.format(digest=wheel(tmp_path))}\n")
    installed = tmp_path / "installed"
    for part in ("client", "aio/client"):
        for kind in ("models", "api"):
            (installed / "kubernetes" / part / kind).mkdir(parents=True)
    command = [script, sys.executable, installed, "--no-index", "-f", tmp_path]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert complaint in ended.stderr
    assert (installed / "empty.py").exists() is (ended.returncode == 0) is (complaint == "")
