"""Folders of clusters, their owners, and the removal of leftovers of a killed owner."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.harness import cgroups
from tests.cluster.harness.proc import ProcessId
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

_RECORD = "processes.json"
_LOCK = ".lock"


def folders() -> Path:
    """Where this user's clusters have their folders."""
    root = Path(tempfile.gettempdir()) / f"gpushare-webhook-clusters-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    if root.stat().st_uid != os.getuid():
        raise PermissionError(f"{root} belongs to another user: set TMPDIR to a folder of your own")
    return root


@contextmanager
def _alone() -> Iterator[Path]:
    """`folders()`, with no other process making or sweeping folders in it."""
    root = folders()
    with (root / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield root


def new_folder() -> Path:
    """A new folder, owned by this process. The cluster's cgroups have the same name."""
    with _alone() as root:
        folder = root / f"gpushare-{secrets.token_hex(4)}"
        folder.mkdir()
        record(folder, owner=ProcessId.of(os.getpid()))
    return folder


def remove_folder(folder: Path) -> None:
    """Remove a folder whose cluster has ended, under the lock: a half-removed folder looks abandoned."""
    with _alone():
        shutil.rmtree(folder)


def record(folder: Path, **processes: ProcessId | None) -> None:
    """Record the owner of the folder and the processes that end with it."""
    noted: dict[str, ProcessId | None] = {**recorded(folder), **processes}
    unfinished = folder / f".{_RECORD}"
    unfinished.write_text(json.dumps({role: asdict(process) for role, process in noted.items() if process}))
    unfinished.rename(folder / _RECORD)


def recorded(folder: Path) -> dict[str, ProcessId]:
    """The processes noted for a folder, by role: its owner, its guard, and the first of its namespaces."""
    try:
        noted = json.loads((folder / _RECORD).read_text())
    except FileNotFoundError:
        return {}
    return {role: ProcessId(**process) for role, process in noted.items()}


def sweep() -> list[str]:
    """Remove leftovers of clusters whose owner has ended; return their names. Clusters of live owners are kept."""
    with _alone() as root:
        abandoned = [folder for folder in sorted(root.iterdir()) if folder.is_dir() and not _owned(folder)]
        for folder in abandoned:
            _remove(folder)
    return [folder.name for folder in abandoned]


def others() -> dict[str, ProcessId]:
    """The clusters of other living owners on this machine: the name of each, and its owner."""
    owners = {folder.name: recorded(folder).get("owner") for folder in folders().glob("gpushare-*")}
    return {name: owner for name, owner in owners.items() if owner and owner.alive and owner.pid != os.getpid()}


def _owned(folder: Path) -> bool:
    owner = recorded(folder).get("owner")
    return owner is not None and owner.alive


def _remove(folder: Path) -> None:
    processes = recorded(folder)
    _let_the_guard_finish(folder, processes.get("guard"))
    for process in processes.values():
        process.kill()
    cgroups.remove(folder.name)
    if folder.exists():
        shutil.rmtree(folder)


def _let_the_guard_finish(folder: Path, guard: ProcessId | None) -> None:
    """A guard whose owner has just died is already cleaning up; kill it only if it does not finish."""
    if not guard:
        return
    try:
        wait_for(f"the guard of {folder.name} to finish", lambda: not guard.alive)
    except TimeoutError:
        guard.kill()
