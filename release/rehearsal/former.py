"""The former version: a commit packaged as a development version, so that an upgrade from it can be rehearsed."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from release.rehearsal.debian import base
from release.rehearsal.registry import SYSTEM
from tests.chart import tools
from tests.project.repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from release.rehearsal.engine import Engine
    from release.rehearsal.registry import Registry

# Step 1 of docs/how-to/release.md sets both: after a release, to the commit and the version of that release.
COMMIT = "98e492a"
VERSION = "0.1.0-dev.1"
IMAGE = "gpushare-webhook/gpushare-webhook"

# Its Dockerfile names this base by its tag, and has no secrets.
_RELEASE = "bookworm"
_STATED = re.compile(r"""^((?:version|appVersion): |__version__ = ["'])[\w.+-]+""", re.MULTILINE)
_BASE = f"docker.io/library/debian:{_RELEASE}-slim"


def push(engine: Engine, registry: Registry, folder: Path) -> None:
    """Build image and chart of the commit as `VERSION`, and push both."""
    _export(folder)
    engine.add(base(_RELEASE).make() / "root.tar", _BASE)
    image = f"{registry.address}/{IMAGE}:{VERSION}"
    pip = folder.parent / "former-pip.conf"
    pip.write_text("[global]\ncert = /run/ca.pem\n")
    mounts = (f"--volume={pip}:/etc/pip.conf:ro", f"--volume={SYSTEM}:/run/ca.pem:ro")
    engine("buildah", "build", "--quiet", "--pull-never", *mounts, f"--tag={image}", ".", folder=folder)
    engine.push(image)
    helm = tools.helm()
    engine(helm, "package", "charts/gpushare-webhook", folder=folder)
    engine(helm, "push", f"gpushare-webhook-{VERSION}.tgz", f"oci://{registry.address}/charts", folder=folder)


def _export(folder: Path) -> None:
    """The files of the commit, with `VERSION` instead of its own, which the released version has to exceed."""
    archive = subprocess.run(["git", "archive", COMMIT], cwd=ROOT, check=True, capture_output=True).stdout  # noqa: S607
    folder.mkdir()
    # `tarfile` has a safe filter from Python 3.11.4 on, and Debian 12 has 3.11.2.
    subprocess.run(["tar", "--extract", f"--directory={folder}"], input=archive, check=True, capture_output=True)  # noqa: S607
    for name in ("webhook/__init__.py", "charts/gpushare-webhook/Chart.yaml"):
        file = folder / name
        file.write_text(versioned(file.read_text()))


def versioned(text: str) -> str:
    """The text of a file that states the version, with `VERSION` instead. Raises `ValueError` where it states none."""
    changed, count = _STATED.subn(rf"\g<1>{VERSION}", text)
    if not count:
        raise ValueError(f"no line states a version in:\n{text}")
    return changed
