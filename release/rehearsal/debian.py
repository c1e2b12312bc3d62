"""Bases that stand for the published ones, which cannot be pulled everywhere: Debian's packages by debootstrap.

The published `debian:RELEASE-slim` is made from the same packages, those of `debootstrap --variant=minbase`
(github.com/debuerreotype/debuerreotype, Dockerfile and scripts/debuerreotype-minimizing-config).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of
from tests.cluster.harness.debian import KEYS

# The published base has these files: they keep documentation and caches of apt out of the layers above it.
_SETTINGS = {
    "etc/dpkg/dpkg.cfg.d/docker": """\
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
""",
    "etc/apt/apt.conf.d/docker-clean": """\
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
""",
}
_LEFT_OUT = ("usr/share/info", "usr/share/locale", "usr/share/man")


def base(release: str) -> Recipe:
    """The root folder of a release of Debian, `root.tar`. Needs root."""
    return Recipe(f"base-{release}", key_of(release, Path(__file__)), lambda folder: _fill(release, folder))


def _fill(release: str, folder: Path) -> None:
    root = folder / "root"
    _run("debootstrap", "--variant=minbase", f"--keyring={KEYS}", release, str(root), _mirror())
    for name, text in _SETTINGS.items():
        (root / name).write_text(text)
    for name in _LEFT_OUT:
        shutil.rmtree(root / name)
        (root / name).mkdir()
    for file in (root / "usr/share/doc").rglob("*"):
        if file.is_file() and file.name != "copyright":
            file.unlink()
    for cached in ("var/cache/apt/archives", "var/lib/apt/lists"):
        for file in (root / cached).glob("*_*"):
            file.unlink()
    _run("tar", "--create", f"--file={folder / 'root.tar'}", f"--directory={root}", "--one-file-system", ".")
    shutil.rmtree(root)


def _mirror() -> str:
    """The mirror of Debian that this machine's apt uses. Raises `ToolsMissingError`."""
    listed = _run(
        "apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages", "Origin: Debian"
    )
    for mirror, suite in map(str.split, listed.splitlines()):
        if re.fullmatch(r"[a-z]+", suite):
            return mirror
    raise ToolsMissingError("the base needs package lists of a Debian mirror: run `apt-get update`")


def _run(*command: str) -> str:
    """Run a program and return its output. Raises `ToolsMissingError`."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ToolsMissingError(
            f"{command[0]} is not on PATH: install the packages of docs/how-to/release.md"
        ) from None
    if done.returncode:
        raise ToolsMissingError(f"`{' '.join(command)}` failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout
