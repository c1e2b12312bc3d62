"""Lock the image's libraries: exact versions and the digests of the wheels that pip may install.

    python -m release.image.lock

uv resolves the dependencies of pyproject.toml in the versions of constraints.txt, for the image's Python and not for
the one that runs this. It fails if a library has no wheel for one of the image's machines.
"""

from __future__ import annotations

from release.lock import ROOT, Lock

LOCK = ROOT / "release" / "image" / "requirements.txt"
PYTHON = "3.13"
"""The Python of the image's base, Debian 13."""
MACHINES = ("x86_64", "aarch64")
LIBC = "manylinux_2_28"
"""The newest platform tag for which wheels are accepted; the base's glibc runs those and newer ones."""

LIBRARIES = Lock(
    target="image-lock",
    file=LOCK,
    about=f"""\
# Written by `make image-lock`; do not edit. The libraries of the image in the versions of constraints.txt, with the
# SHA-256 digests of their wheels for CPython {PYTHON} on Linux ({", ".join(MACHINES)}).
""",
    source=("pyproject.toml", "--extra", "server"),
    pythons=(PYTHON,),
    platforms=tuple(f"{machine}-{LIBC}" for machine in MACHINES),
)

if __name__ == "__main__":
    raise SystemExit(LIBRARIES.write())
