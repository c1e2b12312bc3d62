"""The repository in which a command runs."""

from __future__ import annotations

from pathlib import Path


def up_to_root(folder: Path) -> list[Path]:
    """Return a folder and those above it up to the root of its repository; the folder alone if it is in none."""
    folders = [folder, *folder.parents]
    root = next((index for index, one in enumerate(folders) if (one / ".git").exists()), 0)
    return folders[: root + 1]
