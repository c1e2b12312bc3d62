"""The wheel of gpushare-check and its libraries for a platform, unpacked into one folder for several Pythons.

The name of a compiled module contains the version of Python that loads it, so the modules of all versions lie side by
side. Everything else in the wheels of a library is the same for each.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from krew.platforms import PYTHONS, Platform

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"

OF_WHEEL = ("RECORD", "WHEEL", "sboms/")
"""What a library's metadata says about one wheel; METADATA and the licences are the same in all of them."""


class DifferentError(Exception):
    """Two wheels have different content under one path."""


def libraries(wheel: Path, platform: Platform, folder: Path) -> dict[str, bytes]:
    """Download the libraries of a wheel for a platform into an empty folder. Return all files by path.

    Raises CalledProcessError where pip finds no wheel of a library, and DifferentError.
    """
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda python: _download(wheel, platform, python, folder / python), PYTHONS))
    return unpacked(sorted(folder.glob("*/*.whl")))


def _download(wheel: Path, platform: Platform, python: str, folder: Path) -> None:
    target = (f"--python-version={python}", *(f"--platform={tag}" for tag in platform.tags), "--only-binary=:all:")
    quiet = ("--quiet", "--disable-pip-version-check")
    command = (sys.executable, "-m", "pip", "download", *quiet, *target, f"--constraint={CONSTRAINTS}")
    subprocess.run([*command, f"--dest={folder}", str(wheel)], check=True)


def unpacked(wheels: Iterable[Path]) -> dict[str, bytes]:
    """The files of wheels by path. Raises DifferentError."""
    files: dict[str, bytes] = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for path in archive.namelist():
                if path.endswith("/") or path.partition(".dist-info/")[2].startswith(OF_WHEEL):
                    continue
                content = archive.read(path)
                if files.setdefault(path, content) != content:
                    raise DifferentError(f"{path} of {wheel.name} differs from that of another wheel")
    return files
