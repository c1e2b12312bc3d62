"""Folders outside the tree that are built once, keyed by their inputs. A folder is complete or does not exist."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


KEY_LENGTH = 12
_FORGOTTEN = 14 * 24 * 3600  # seconds


class ToolsMissingError(Exception):
    """A tool is missing or cannot be built here; the message says what to do."""


def cache_root() -> Path:
    """The folder that holds everything built: below `$XDG_CACHE_HOME`, else `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "gpushare-webhook" / "cluster"


def key_of(*parts: str | Path) -> str:
    """A short digest of texts and of the contents of files and folders (in the order of their names)."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            digest.update(part.encode() + b"\0")
            continue
        for file in _files(part):
            digest.update(file.relative_to(part.parent).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:KEY_LENGTH]


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())


@dataclass(frozen=True, slots=True)
class Recipe:
    """One folder of the cache: its name, the key of its inputs, and the function that fills an empty folder."""

    name: str
    key: str
    fill: Callable[[Path], None]

    @property
    def folder(self) -> Path:
        """Where the finished folder is; it may not be there yet."""
        return cache_root() / f"{self.name}-{self.key}"

    def find(self) -> Path:
        """The finished folder. Raises `ToolsMissingError` where it has not been built."""
        if not self.folder.is_dir():
            raise ToolsMissingError(f"{self.name} is not built ({self.folder} is missing): run `make cluster-tools`")
        return self.folder

    def make(self) -> Path:
        """The finished folder, filled first where it is missing.

        One of several builders takes the lock and builds; the others wait for its result. The kernel drops it when its
        holder ends, however it ends. The rename at the end makes an interrupted build invisible.
        """
        if self.folder.is_dir():
            os.utime(self.folder)
            return self.folder
        root = cache_root()
        root.mkdir(parents=True, exist_ok=True)
        with (root / f"{self.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.folder.is_dir():
                return self.folder
            for interrupted in root.glob(f".{self.name}-*"):
                shutil.rmtree(interrupted)
            unfinished = Path(tempfile.mkdtemp(prefix=f".{self.name}-", dir=root))
            self.fill(unfinished)
            unfinished.chmod(0o755)
            unfinished.rename(self.folder)
            self._remove_forgotten(root)
        return self.folder

    def _remove_forgotten(self, root: Path) -> None:
        """Remove folders of former inputs that were not used for two weeks."""
        for former in root.glob(f"{self.name}-{'[0-9a-f]' * KEY_LENGTH}"):
            if former.stat().st_mtime < time.time() - _FORGOTTEN:
                shutil.rmtree(former)
