"""A rehearsal leaves nothing behind that names its folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from release.rehearsal.guide import FailedError

if TYPE_CHECKING:
    from collections.abc import Iterator


def remove(folder: Path) -> None:
    """Remove the folder. Raises `FailedError` as `check` does, and names files that it cannot remove."""
    shutil.rmtree(folder, ignore_errors=True)
    check(folder)


def check(folder: Path) -> None:
    """Raise `FailedError` where a process or a mount still uses the folder, or files are left in it."""
    found = [*_processes(str(folder)), *_mounts(str(folder))]
    if folder.exists():
        found.append(f"the folder {folder}")
    if found:
        raise FailedError("the rehearsal left these behind:\n" + "\n".join(found))


def _processes(name: str) -> Iterator[str]:
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = status.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
        if name in command:
            yield f"the process {status.parent.name}: {command}"


def _mounts(name: str) -> Iterator[str]:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        if name in line:
            yield f"the mount {line.split()[1]}"
