"""Lock the libraries of the command line: exact versions and the digests of the wheels that pip may install.

    python -m integrations.lock

They are the dependencies of the distribution without extras, for the Pythons and systems that CI jobs run on.
"""

from __future__ import annotations

from release.lock import ROOT, Lock

LOCK = ROOT / "integrations" / "requirements.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = (
    "x86_64-manylinux_2_28",
    "aarch64-manylinux_2_28",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
)

LIBRARIES = Lock(
    target="command-line-lock",
    file=LOCK,
    about=f"""\
# Written by `make command-line-lock`; do not edit. The libraries of the command line in the versions of
# constraints.txt, with the SHA-256 digests of their wheels for CPython {PYTHONS[0]} to {PYTHONS[-1]}, Linux and macOS.
""",
    source=("pyproject.toml",),
    pythons=PYTHONS,
    platforms=PLATFORMS,
)

if __name__ == "__main__":
    raise SystemExit(LIBRARIES.write())
