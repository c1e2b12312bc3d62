"""The machine of a rehearsal: checked before the tools are built, which takes minutes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from release.rehearsal.former import COMMIT
from tests.cluster.harness.cache import ToolsMissingError
from tests.project.repository import ROOT

PACKAGES = {
    "buildah": "buildah",
    "debootstrap": "debootstrap",
    "docker-registry": "docker-registry",
    "gcc": "gcc",
    "git": "git",
    "go": "golang-go",
    "ip": "iproute2",
    "make": "make",
    "skopeo": "skopeo",
}
"""The programs that a rehearsal calls, each with the package of Debian that contains it."""


def check() -> None:
    """Raise `ToolsMissingError` where the rehearsal lacks the rights, a program, or the former version."""
    if os.geteuid():
        raise ToolsMissingError("a chroot, mounts and network namespaces need root: run it as root")
    if missing := [package for program, package in PACKAGES.items() if not shutil.which(program)]:
        raise ToolsMissingError(f"programs are missing: run `apt-get install --yes {' '.join(missing)}`")
    known = ["git", "cat-file", "-e", f"{COMMIT}^{{commit}}"]
    if subprocess.run(known, cwd=ROOT, capture_output=True, check=False).returncode:
        raise ToolsMissingError(
            f"the clone lacks commit {COMMIT}, the former version: run `git fetch --unshallow`, or set COMMIT in "
            "release/rehearsal/former.py to a commit that you have"
        )


def main() -> int:
    """Check, and return 1 with the reason where something is missing."""
    try:
        check()
    except ToolsMissingError as problem:
        print(f"rehearse-release: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
