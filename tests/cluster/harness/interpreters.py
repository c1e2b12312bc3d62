"""The Pythons that run the webhook: the Python of its image, which the goals refer to, and the Python of the tests."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tests.cluster.harness import debian, webhook_image
from tests.cluster.harness.cache import Recipe

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python with the webhook's libraries: its command, and additional environment."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def at_hand() -> Interpreter:
    """The Python that runs this."""
    return Interpreter((sys.executable,), {"PYTHONPATH": str(webhook_image.PROJECT)})


@cache
def image() -> Interpreter:
    """Debian's Python with the locked libraries, as in the image, and the code of this checkout.

    Raises ToolsMissingError where `make cluster-tools` has not built them.
    """
    found, libraries = webhook_image.python().find(), webhook_image.libraries()
    layer = libraries.find() / "layer.tar"
    unpacked = Recipe("webhook-libraries-unpacked", libraries.key, lambda folder: _unpack(layer, folder)).make()
    path = f"{unpacked / webhook_image.HOME}:{webhook_image.PROJECT}"
    return Interpreter(_program(found / "root"), {"PYTHONPATH": path})


def _program(root: Path) -> tuple[str, ...]:
    """The unpacked Python with its own C library, without the shell of the cache's launcher, which takes time."""
    (linker,), (python,) = root.glob("usr/lib*/ld-linux-*.so.*"), root.glob("usr/bin/python3.[0-9]*")
    libraries = ":".join(map(str, debian.library_folders(root)))
    return (str(linker), "--library-path", libraries, "--argv0", str(python), str(python))


def _unpack(layer: Path, folder: Path) -> None:
    # `tarfile` has a safe filter from Python 3.11.4 on, and Debian 12 has 3.11.2.
    command = ["tar", "--extract", "--no-same-owner", f"--file={layer}", f"--directory={folder}"]
    subprocess.run(command, check=True, capture_output=True)
