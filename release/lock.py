"""A lock of libraries, written by uv's resolution for Pythons and platforms that need not be those of this process."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Lock:
    """A requirements file for pip: the libraries of a source in the versions of constraints.txt, and their digests.

    `target` is the one of make that writes it, `source` the words by which uv finds the libraries in the project, and
    `platforms` has uv's names. `about` says, in comments at the top, what the file holds.
    """

    target: str
    file: Path
    about: str
    source: tuple[str, ...]
    pythons: tuple[str, ...]
    platforms: tuple[str, ...]

    def text(self) -> str:
        """Return the content of the file. Raises CalledProcessError where a library has no wheel for a target."""
        digests: dict[str, set[str]] = {}
        for python, platform in product(self.pythons, self.platforms):
            for package in _resolved(self.source, python, platform):
                pin = f"{package['name']}=={package['version']}"
                digests.setdefault(pin, set()).update(_installable(package["wheels"]))
        entries = ([pin, *(f"--hash=sha256:{digest}" for digest in sorted(digests[pin]))] for pin in sorted(digests))
        return self.about + "".join(" \\\n    ".join(entry) + "\n" for entry in entries)

    def write(self) -> int:
        """Write the file, and return the exit code of the process."""
        try:
            self.file.write_text(self.text())
        except subprocess.CalledProcessError as problem:
            print(
                f"{self.target}: uv could not resolve the libraries (exit code {problem.returncode})", file=sys.stderr
            )
            return 1
        return 0


def _resolved(source: tuple[str, ...], python: str, platform: str) -> list[dict[str, Any]]:
    """The packages that uv selects for a target, each with its name, version and wheels (PEP 751)."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "pylock.toml")
        uv = Path(sysconfig.get_path("scripts"), "uv")
        target = ("--python-version", python, "--python-platform", platform, "--only-binary", ":all:")
        files = (*source, "--constraints", "constraints.txt", "--output-file", str(written))
        command = [str(uv), "pip", "compile", "--quiet", "--no-config", "--no-header", *target, *files]
        subprocess.run(command, cwd=ROOT, check=True)
        packages: list[dict[str, Any]] = tomllib.loads(written.read_text())["packages"]
    return packages


def _installable(wheels: list[Mapping[str, Any]]) -> Iterator[str]:
    """The digests of the compiled wheels, or of all where there is none: pure Python would be the slow substitute."""
    compiled = [wheel for wheel in wheels if not PurePosixPath(urlsplit(wheel["url"]).path).stem.endswith("-none-any")]
    yield from (wheel["hashes"]["sha256"] for wheel in compiled or wheels)
