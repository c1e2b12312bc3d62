"""Build the plugin: `python -m krew WHEEL BASE_URL FOLDER [PLATFORM ...]`.

WHEEL is that of gpushare-check, BASE_URL the address below which the archives will be published. The archives and the
manifest are written to FOLDER. A PLATFORM is a name such as `linux-amd64`; without one, all are built. Files have the
time `SOURCE_DATE_EPOCH`, so that the same commit gives the same bytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from krew.archive import archive
from krew.libraries import DifferentError, libraries
from krew.manifest import file_name, manifest
from krew.platforms import PLATFORMS, Platform


def main() -> int:
    """Build what the arguments name."""
    wheel, base_url, output, *names = sys.argv[1:]
    if not base_url.startswith("https://"):
        print("krew: set BASE_URL to the https:// address below which you publish the archives", file=sys.stderr)
        return 2
    known = {platform.name: platform for platform in PLATFORMS}
    if unknown := [name for name in names if name not in known]:
        print(f"krew: no platform {', '.join(unknown)}; PLATFORMS may name {', '.join(known)}", file=sys.stderr)
        return 2
    wanted = [known[name] for name in names or known]
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        archives = {platform: _built(Path(wheel), platform, folder) for platform in wanted}
    except subprocess.CalledProcessError as problem:
        print(f"krew: pip could not download the libraries (exit code {problem.returncode})", file=sys.stderr)
        return 1
    except DifferentError as problem:
        print(f"krew: {problem}", file=sys.stderr)
        return 1
    (folder / "gpushare.yaml").write_text(manifest(archives, base_url))
    print(folder / "gpushare.yaml")
    return 0


def _built(wheel: Path, platform: Platform, folder: Path) -> bytes:
    """Write the archive for a platform, and return its bytes."""
    with tempfile.TemporaryDirectory() as downloads:
        packed = archive(libraries(wheel, platform, Path(downloads)), platform, _time())
    file = folder / file_name(platform)
    file.write_bytes(packed)
    print(f"{file}: {len(packed) / 1e6:.1f} MB")
    return packed


def _time() -> int:
    return int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


if __name__ == "__main__":
    raise SystemExit(main())
