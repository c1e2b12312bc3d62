"""The archive of the plugin for a platform: launcher, licence, and libraries. The same files give the same bytes."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from krew.libraries import ROOT
from krew.platforms import Platform

LAUNCHER = "kubectl-gpushare"
"""The program that krew links to."""

_HERE = Path(__file__).parent


def archive(libraries: Mapping[str, bytes], platform: Platform, time: int) -> bytes:
    """Pack the plugin. `time` is that of every file, in seconds since the epoch."""
    files = {
        LAUNCHER: (_HERE / LAUNCHER).read_text().replace("@PLATFORM@", str(platform)).encode(),
        "start.py": (_HERE / "start.py").read_bytes(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        **{f"lib/{path}": content for path, content in libraries.items()},
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mtime = len(content), time
            entry.mode = 0o755 if path == LAUNCHER else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), compresslevel=6, mtime=0)
