"""The webhook's image, packed by the same steps as its Dockerfile, without a container engine."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.harness import debian, image
from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of

if TYPE_CHECKING:
    from tests.cluster.harness.cluster import Cluster

IMAGE = "gpushare-webhook:test"
PROJECT = Path(__file__).parents[3]
HOME = "opt/gpushare-webhook"
LIBRARIES, BYTECODE = PROJECT / "image" / "libraries.sh", PROJECT / "image" / "bytecode.sh"
CONFIG = image.Config(
    ("/usr/bin/python3", "-m", "webhook"), {"PYTHONPATH": f"/{HOME}", "PYTHONDONTWRITEBYTECODE": "1"}, user="65532"
)


def libraries() -> Recipe:
    """The layer of an image, `layer.tar`, with what pyproject.toml names, in the versions of constraints.txt."""
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
    inputs = (*declared, PROJECT / "constraints.txt", LIBRARIES, BYTECODE, debian.python().key)
    return Recipe("webhook-libraries", key_of(*inputs), _pack_libraries)


def write_archive(archive: Path) -> None:
    """Write the image's archive with the current code.

    Raises `ToolsMissingError` when the layers below it have not been built.
    """
    below = [debian.python().find() / "layer.tar", libraries().find() / "layer.tar"]
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        code = Path(folder, "layer.tar")
        root = Path(folder, "root")
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / "webhook", root / HOME / "webhook", ignore=ignored)
        _run(BYTECODE, root / HOME / "webhook", f"/{HOME}/webhook")
        image.pack_layer(root, code)
        image.write_archive(IMAGE, [*below, code], CONFIG, archive)


def load(cluster: Cluster) -> None:
    """Load the image into the cluster's node, once.

    Raises `ToolsMissingError` when the layers below the code have not been built.
    """
    archive = cluster.inside.folder / "webhook.tar"
    if not archive.exists():
        write_archive(archive)
        cluster.node.containers.load(archive)


def _pack_libraries(folder: Path) -> None:
    """Install for the image's Python, which need not be the one that runs this."""
    root = folder / "root"
    version = (debian.python().make() / "version").read_text()
    machine = platform.machine()
    platforms = [f"--platform={tag}_{machine}" for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")]
    _run(LIBRARIES, root / HOME, f"--python-version={version}", *platforms)
    _run(BYTECODE, root / HOME, f"/{HOME}")
    image.pack_layer(root, folder / "layer.tar")
    shutil.rmtree(root)


def _run(script: Path, folder: Path, *options: str) -> None:
    command = [str(script), sys.executable, str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolsMissingError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
