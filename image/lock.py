"""Lock the image's libraries: exact versions and the digests of the wheels that pip may install.

    python -m image.lock

uv resolves the dependencies of pyproject.toml in the versions of constraints.txt, for the image's Python and not for
the one that runs this. It fails if a library has no wheel for one of the image's machines.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "image" / "requirements.txt"
PYTHON = "3.13"
"""The Python of the image's base, Debian 13."""
MACHINES = ("x86_64", "aarch64")
LIBC = "manylinux_2_28"
"""The newest platform tag for which wheels are accepted; the base's glibc runs those and newer ones."""

_HEAD = f"""\
# Written by `make image-lock`; do not edit. The libraries of the image in the versions of constraints.txt, with the
# SHA-256 digests of their wheels for CPython {PYTHON} on Linux ({", ".join(MACHINES)}).
"""


def lock() -> str:
    """The content of the locked requirements file."""
    digests: dict[str, set[str]] = {}
    for machine in MACHINES:
        for package in _resolved(machine):
            pin = f"{package['name']}=={package['version']}"
            digests.setdefault(pin, set()).update(_installable(package["wheels"]))
    entries = ([pin, *(f"--hash=sha256:{digest}" for digest in sorted(digests[pin]))] for pin in sorted(digests))
    return _HEAD + "".join(" \\\n    ".join(entry) + "\n" for entry in entries)


def _resolved(machine: str) -> list[dict[str, Any]]:
    """The packages that uv selects for a machine, each with its name, version and wheels (PEP 751)."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "pylock.toml")
        uv = Path(sysconfig.get_path("scripts"), "uv")
        target = ("--python-version", PYTHON, "--python-platform", f"{machine}-{LIBC}", "--only-binary", ":all:")
        files = ("pyproject.toml", "--constraints", "constraints.txt", "--output-file", str(written))
        command = [str(uv), "pip", "compile", "--quiet", "--no-config", "--no-header", *target, *files]
        subprocess.run(command, cwd=ROOT, check=True)
        packages: list[dict[str, Any]] = tomllib.loads(written.read_text())["packages"]
    return packages


def _installable(wheels: list[Mapping[str, Any]]) -> Iterator[str]:
    """The digests of the compiled wheels, or of all where there is none: pure Python would be the slow substitute."""
    compiled = [wheel for wheel in wheels if not PurePosixPath(urlsplit(wheel["url"]).path).stem.endswith("-none-any")]
    yield from (wheel["hashes"]["sha256"] for wheel in compiled or wheels)


def main() -> int:
    """Write the file."""
    try:
        LOCK.write_text(lock())
    except subprocess.CalledProcessError as problem:
        print(f"image-lock: uv could not resolve the dependencies (exit code {problem.returncode})", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
