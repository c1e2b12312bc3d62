"""A clone of the repository in which a test runs commands, as a reader of the pages does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.chart import tools
from tests.cluster.harness import cache
from tests.project.repository import ROOT, name, tracked

READER = ROOT / "tests" / "project" / "reader"


def make(folder: Path) -> None:
    """Copy the repository as it is, with its virtual environment, as after `make`, and with the files of a reader."""
    for file in tracked():
        target = folder / name(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)
    shutil.copytree(READER, folder, dirs_exist_ok=True)
    committed = ["git", "-c", "user.name=reader", "-c", "user.email=reader@example.com", "commit", "--message=Clone"]
    for command in (["git", "init"], ["git", "add", "--all"], committed, [sys.executable, "certs/generate.py"]):
        subprocess.run(command, cwd=folder, check=True, timeout=60, capture_output=True)
    (folder / ".venv").mkdir()
    for entry in Path(sys.prefix).iterdir():
        if entry.name != ".ready":
            (folder / ".venv" / entry.name).symlink_to(entry)
    (folder / ".venv" / ".ready").touch()


def copied(clone: Path, into: Path) -> Path:
    """A copy of a clone, for one test."""
    folder = into / "gpushare-webhook"
    shutil.copytree(clone, folder, symlinks=True)
    return folder


def reader(folder: Path) -> dict[str, str]:
    """The environment of a reader in a clone: its code comes first, and only the cache is shared with others.

    Helm is there once it is built.
    """
    home = folder.parent / "home"
    home.mkdir()
    return os.environ | {
        "PATH": f"{folder}/.venv/bin:{tools.recipe().folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(cache.cache_root().parents[1]),
        "LANG": "C.UTF-8",
        **{f"GIT_{who}_{what}": "reader@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
