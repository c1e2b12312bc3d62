"""The image's libraries are locked: the versions of constraints.txt, complete, by the digests of their wheels."""

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

from image.lock import LOCK, MACHINES, PYTHON
from tests.project.repository import ROOT, project

LIBRARIES = ROOT / "image" / "libraries.sh"


def pins(text: str) -> dict[str, str]:
    """Versions by canonical name."""
    return {
        canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE)
    }


def closure(machine: str) -> set[str]:
    """The libraries that the image's Python needs on a machine, by the metadata of those that are installed here."""
    environment = {name: str(value) for name, value in default_environment().items()} | {
        "python_version": PYTHON,
        "python_full_version": f"{PYTHON}.0",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": machine,
    }
    wanted = [(Requirement(one), "") for one in project()["project"]["dependencies"]]
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


def test_locked_versions_equal_constraints() -> None:
    constraints = pins((ROOT / "constraints.txt").read_text())
    locked = pins(LOCK.read_text())
    assert locked == {name: constraints[name] for name in locked}


@pytest.mark.parametrize("machine", MACHINES)
def test_lock_contains_exactly_what_dependencies_need(machine: str) -> None:
    assert set(pins(LOCK.read_text())) == closure(machine)


def test_every_library_is_locked_by_digest() -> None:
    text = re.sub(r"^#.*\n", "", LOCK.read_text(), flags=re.MULTILINE)
    entries = text.replace(" \\\n", "").splitlines()
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
