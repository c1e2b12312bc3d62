"""The settings file of a run: an option, a variable, or a file of the repository names it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from webhook.manifests.recognition import OUR_FILE

VARIABLE = "GPUSHARE_CONFIG"
"""The environment variable that names a settings file."""

FILE = OUR_FILE
"""The settings file of a repository: in the working directory, or in a folder above it within the repository."""


class SettingsFile(NamedTuple):
    """A settings file, and how it was found; empty for an option, which the user sees."""

    file: str
    found: str = ""

    def __str__(self) -> str:
        return f"{self.file}, {self.found}" if self.found else self.file


def settings_file(option: str | None) -> SettingsFile | None:
    """Return the settings file that applies; None if none is named or found."""
    if option is not None:
        return SettingsFile(option)
    if given := os.environ.get(VARIABLE):
        return SettingsFile(given, f"named by {VARIABLE}")
    found = _of_repository(Path.cwd())
    return None if found is None else SettingsFile(os.path.relpath(found), "found in this repository")


def _of_repository(start: Path) -> Path | None:
    """Return the nearest settings file up to the root of the repository.

    Outside a repository only the folder itself counts: a file of another user in /tmp must not apply.
    """
    return next((file for folder in up_to_root(start) if (file := folder / FILE).is_file()), None)


def up_to_root(folder: Path) -> list[Path]:
    """Return a folder and those above it up to the root of its repository; the folder alone if it is in none."""
    folders = [folder, *folder.parents]
    root = next((index for index, one in enumerate(folders) if (one / ".git").exists()), 0)
    return folders[: root + 1]
