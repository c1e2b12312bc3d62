"""buildah with a storage of its own: it builds in a chroot, needs no daemon, and leaves nothing outside a folder."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from release.rehearsal import left
from release.rehearsal.guide import FailedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{folder}/content"
runroot = "{folder}/running"
"""


@dataclass(frozen=True, slots=True)
class Engine:
    """buildah, and skopeo on the same storage, with the variables under which they find it."""

    environment: Mapping[str, str]

    def __call__(self, *command: str, folder: Path | None = None) -> str:
        """Run a program and return its output. Raises `FailedError`."""
        environment = os.environ | self.environment
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise FailedError(f"{command[0]} is not on PATH: install the packages of docs/how-to/release.md") from None
        if done.returncode:
            raise FailedError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()[-4000:]}")
        return done.stdout

    def add(self, root: Path, name: str, command: str = "bash") -> None:
        """Make an image of one layer from the archive of a root folder."""
        container = self("buildah", "from", "scratch").strip()
        self("buildah", "add", "--quiet", container, str(root), "/")
        self("buildah", "config", "--cmd", command, container)
        self("buildah", "commit", "--quiet", "--rm", container, name)

    def push(self, image: str) -> None:
        """Push an image to the registry that its name begins with."""
        self("buildah", "push", "--quiet", image)

    def described(self, image: str) -> dict[str, Any]:
        """An image's configuration, in the form of the Open Container Initiative."""
        described: dict[str, Any] = json.loads(self("buildah", "inspect", "--type=image", image))["OCIv1"]
        return described

    @contextmanager
    def mounted(self, image: str) -> Iterator[Path]:
        """The root folder of an image, read-only."""
        container = self("buildah", "from", "--pull-never", image).strip()
        try:
            yield Path(self("buildah", "mount", container).strip())
        finally:
            self("buildah", "rm", container)


@contextmanager
def engine(folder: Path, trusted: Path) -> Iterator[Engine]:
    """buildah with its storage in a folder, which trusts the certificates in a file; at the end no mount is left."""
    for name in ("content", "running", "temporary"):
        (folder / name).mkdir(parents=True)
    settings = folder / "storage.conf"
    settings.write_text(_STORAGE.format(folder=folder))
    made = Engine(
        {
            "CONTAINERS_STORAGE_CONF": str(settings),
            "BUILDAH_ISOLATION": "chroot",
            "SSL_CERT_FILE": str(trusted),
            "TMPDIR": str(folder / "temporary"),
        }
    )
    try:
        yield made
    finally:
        # After a signal, the programs that a killed shell started still run.
        left.end(folder)
        try:
            made("buildah", "rm", "--all")
        finally:
            made("buildah", "rmi", "--all", "--force")
