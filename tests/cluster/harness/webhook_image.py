"""The webhook's image, packed by the same steps as its Dockerfile, without a container engine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.harness import image
from tests.cluster.harness.base import base
from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of
from webhook import __version__

if TYPE_CHECKING:
    from tests.cluster.harness.cluster import Cluster

IMAGE = "gpushare-webhook:test"
PROJECT = Path(__file__).parents[3]
HOME = "opt/gpushare-webhook"
LIBRARIES, BYTECODE = PROJECT / "release" / "image" / "libraries.sh", PROJECT / "release" / "image" / "bytecode.sh"
LOCK, LICENCE = PROJECT / "release" / "image" / "requirements.txt", PROJECT / "LICENSE"
CONFIG = image.Config(
    ("/usr/bin/python3", "-m", "webhook"), {"PYTHONPATH": f"/{HOME}", "PYTHONDONTWRITEBYTECODE": "1"}, user="65532"
)


def python() -> Recipe:
    """The layer of an image, `layer.tar`, with Python and all that it needs."""
    return base(BYTECODE)


def libraries() -> Recipe:
    """The layer of an image, `layer.tar`, with the locked libraries."""
    return Recipe("webhook-libraries", key_of(LOCK, LIBRARIES, BYTECODE, python().key), _pack_libraries)


def write_archive(archive: Path, name: str = IMAGE, *, version: str = __version__) -> None:
    """Write the image's archive with the current code, under another name and as another version if given.

    Raises `ToolsMissingError` when the layers below it have not been built.
    """
    interpreter = python().find()
    below = [interpreter / "layer.tar", libraries().find() / "layer.tar"]
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        code = Path(folder, "layer.tar")
        root = Path(folder, "root")
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / "webhook", root / HOME / "webhook", ignore=ignored)
        shutil.copy(LICENCE, root / HOME)
        head = root / HOME / "webhook" / "__init__.py"
        head.write_text(head.read_text().replace(__version__, version))
        _run(BYTECODE, interpreter / "python", root / HOME / "webhook", f"/{HOME}/webhook")
        image.pack_layer(root, code)
        image.write_archive(name, [*below, code], CONFIG, archive)


def load(cluster: Cluster) -> None:
    """Load the image into the cluster's node, once: the archive in `$WEBHOOK_IMAGE`, else one packed from the tree.

    Raises `ToolsMissingError` when the layers below the code have not been built.
    """
    archive = cluster.inside.folder / "webhook.tar"
    if not archive.exists():
        if built := os.environ.get("WEBHOOK_IMAGE"):
            shutil.copy(built, archive)
        else:
            write_archive(archive)
        cluster.node.containers.load(archive)


def _pack_libraries(folder: Path) -> None:
    """Install for the image's Python: pip runs in the Python of the tests, and the image's own compiles."""
    root = folder / "root"
    interpreter = python().make()
    version = (interpreter / "version").read_text()
    machine = platform.machine()
    platforms = [f"--platform={tag}_{machine}" for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")]
    _run(LIBRARIES, Path(sys.executable), root / HOME, f"--python-version={version}", *platforms)
    _run(BYTECODE, interpreter / "python", root / HOME, f"/{HOME}")
    image.pack_layer(root, folder / "layer.tar")
    shutil.rmtree(root)


def _run(script: Path, interpreter: Path, folder: Path, *options: str) -> None:
    command = [str(script), str(interpreter), str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolsMissingError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
