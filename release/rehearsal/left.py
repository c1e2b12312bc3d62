"""A rehearsal leaves nothing behind that names its folder."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from release.rehearsal.guide import FailedError
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator


def end(folder: Path) -> None:
    """Kill the processes that use the folder. Raises `TimeoutError` where they do not end."""

    def ended() -> bool:
        found = list(_processes(str(folder)))
        for pid, _ in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not found

    wait_for(f"the processes that use {folder} to end", ended, seconds=30)


def remove(folder: Path) -> None:
    """Remove the folder. Raises `FailedError` as `check` does, and names files that it cannot remove."""
    shutil.rmtree(folder, ignore_errors=True)
    check(folder)


def check(folder: Path) -> None:
    """Raise `FailedError` where a process or a mount still uses the folder, or files are left in it."""
    used = [f"the process {pid}: {command}" for pid, command in _processes(str(folder))]
    found = [*used, *_mounts(str(folder))]
    if folder.exists():
        found.append(f"the folder {folder}")
    if found:
        raise FailedError("the rehearsal left these behind:\n" + "\n".join(found))


def _processes(name: str) -> Iterator[tuple[int, str]]:
    """The processes that name a folder in their command or environment, or have their root in it, with the command."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended, or belongs to another user
            command = (process / "cmdline").read_bytes()
            root = os.fsencode((process / "root").readlink())
            if any(name.encode() in text for text in (command, root, (process / "environ").read_bytes())):
                yield int(process.name), command.replace(b"\0", b" ").decode(errors="replace")


def _mounts(name: str) -> Iterator[str]:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        if name in line:
            yield f"the mount {line.split()[1]}"
