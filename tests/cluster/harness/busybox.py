"""The image of the tests' own containers and of the sandbox: one static busybox."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.cluster.harness import image

IMAGE = "gpushare-tests/busybox:1"

# Process 1 of a container ignores signals it does not handle, and a deleted pod would wait for its grace period.
_SLEEP = ("/bin/sh", "-c", "trap 'exit 0' TERM; sleep 2147483647 & wait")


def write_archive(packages: Path, archive: Path) -> None:
    """Write the image's archive. Without a command it sleeps, as a sandbox does."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        root, layer = Path(folder, "root"), Path(folder, "layer.tar")
        for name in ("bin", "etc", "tmp", "proc", "dev", "sys", "run"):
            (root / name).mkdir(parents=True)
        busybox = root / "bin/busybox"
        shutil.copy(packages / "bin/busybox", busybox)
        applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
        for applet in set(applets) - {"busybox"}:
            (root / "bin" / applet).symlink_to("busybox")
        (root / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n")
        image.pack_layer(root, layer)
        image.write_archive(IMAGE, [layer], image.Config(_SLEEP), archive)
