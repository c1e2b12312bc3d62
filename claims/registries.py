"""Releases of registries, by their ordinary clients, in a folder of files. Nothing of a release runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

from claims.data import Source, numbers

_CACHE: Final = Path("build/claims")
_BACKEND: Final = Path(__file__).parent / "backend"
"""A build backend in place of each package's own, which pip would run for the metadata of a source distribution."""


class NotServedError(Exception):
    """A registry does not serve a release, or does not list any. The message is that of its client."""


def folder(source: Source, release: str) -> Path:
    """The files of a release. Raises NotServedError."""
    if source.registry == "go":
        return Path(json.loads(_run("go", "mod", "download", "-json", f"{source.package}@{release}"))["Dir"])
    target = (_CACHE / f"{source.package}-{release}").absolute()
    if not (target / ".done").exists():
        target.mkdir(parents=True, exist_ok=True)
        _from_pip(source.package, release, target)
        (target / ".done").touch()
    return target


def _from_pip(package: str, release: str, target: Path) -> None:
    """Unpack the source distribution, or else the wheel."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    command += ["--dest", str(target), f"{package}=={release}"]
    try:
        _run(*command, "--no-binary=:all:", "--no-build-isolation", PYTHONPATH=str(_BACKEND))
    except NotServedError:
        _run(*command, "--only-binary=:all:")
    archive = next(one for one in target.iterdir() if one.suffix in (".gz", ".whl", ".zip"))
    if archive.suffix != ".gz":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(target)  # noqa: S202 - zipfile keeps names within the folder
    else:
        with tarfile.open(archive) as unpacked:
            unpacked.extractall(target, filter="data")
    archive.unlink()


def newest(source: Source) -> str:
    """The newest release without a suffix. Raises NotServedError where the registry lists none."""
    if source.registry == "go":
        listed = _run("go", "list", "-m", "-versions", source.package).split()[1:]
    else:
        listed = _run(sys.executable, "-m", "pip", "index", "versions", source.package).replace(",", " ").split()
    released = [one for one in listed if re.fullmatch(r"v?\d+(\.\d+)+", one)]
    if not released:
        raise NotServedError("the registry lists no release")
    return max(released, key=numbers)


def of_clone(clones: Path, source: Source, release: str, path: str) -> str:
    """The text of a file of a recorded release, in a clone below a folder of clones. Raises NotServedError."""
    commit = source.recorded[release].split()[0]
    return _run("git", "-C", str(clones / source.repository), "show", f"{commit}:{path}")


def text(files: Path, path: str) -> str:
    """The text of a file of a release; below the single folder of an archive, or at its top. Raises NotServedError."""
    for one in (files / path, *sorted(files.glob(f"*/{path}"))):
        if one.is_file():
            return one.read_text(encoding="utf-8", errors="replace")
    raise NotServedError(f"the release has no file {path}")


def _run(*command: str, **variables: str) -> str:
    """What a client prints. Raises NotServedError if it fails."""
    try:
        done = subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, check=False, timeout=300
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise NotServedError(str(error)) from error
    if done.returncode:
        said = re.findall(r'"Error": "([^"]*)', done.stdout) or done.stderr.strip().splitlines() or ["it fails"]
        raise NotServedError(f"{command[0]}: {said[-1][:300]}")
    return done.stdout
