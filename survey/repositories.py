"""The repositories of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from webhook.manifests.recognition import EXTENSIONS


@dataclass(frozen=True, slots=True)
class Repository:
    """A folder of manifests, and its name within the survey."""

    name: str
    path: Path


def repositories(folder: Path) -> list[Repository]:
    """The repositories of a folder, by name.

    A folder with `.git`, or with manifests of its own, is one repository, and so is one without folders. Of any other
    folder, each folder in it is one.
    """
    inner = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    if not inner or (folder / ".git").exists() or _has_manifests(folder):
        return [Repository(folder.resolve().name, folder)]
    return [Repository(name, folder / name) for name in inner]


def _has_manifests(folder: Path) -> bool:
    """Whether a file of the folder itself is named like a manifest."""
    return any(entry.name.endswith(EXTENSIONS) and entry.is_file() for entry in folder.iterdir())
