"""The base of the webhook's image: Debian's Python, unpacked, packed as a layer, and runnable on this machine."""

from __future__ import annotations

import platform
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.cluster.harness import debian, image
from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of

RELEASE = "trixie"
"""The release of Debian that the Dockerfile names."""
PACKAGES = ("python3",)

# The Dockerfile's base has the links from /bin and /lib to /usr, which this package contains.
_FOUNDATION = ("base-files",)
# Not in the image that the tests load: documentation, and what only a login reads.
_LEFT_OUT = ("usr/share/doc", "usr/share/man", "usr/share/locale")


def base(bytecode: Path) -> Recipe:
    """Python and all that it needs: `layer.tar`, `version` (as `3.13`), and the program `python` that runs it here.

    The script `bytecode` compiles the standard library, as the package does when apt installs it.
    """
    sources = (bytecode, Path(__file__), Path(debian.__file__))
    key = key_of(RELEASE, *_FOUNDATION, *PACKAGES, platform.machine(), *sources)
    return Recipe(f"python-{RELEASE}", key, lambda folder: _fill(folder, bytecode))


def _fill(folder: Path, bytecode: Path) -> None:
    root = folder / "root"
    root.mkdir()
    with tempfile.TemporaryDirectory() as state:
        debian.unpack((*_FOUNDATION, *PACKAGES), debian.bare(RELEASE, Path(state)), root)
    for documentation in _LEFT_OUT:
        shutil.rmtree(root / documentation, ignore_errors=True)
    (python,) = (root / "usr/bin").glob("python3.[0-9]*")
    (folder / "version").write_text(python.name.removeprefix("python"))
    _write_launcher(root, python, folder / "python")
    library = f"usr/lib/{python.name}"
    done = subprocess.run(
        [bytecode, folder / "python", root / library, f"/{library}"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ToolsMissingError(f"the image's Python does not run here: {done.stderr.strip()}")
    image.pack_layer(root, folder / "layer.tar")


def _write_launcher(root: Path, python: Path, launcher: Path) -> None:
    """Write a script that runs the unpacked Python with its own C library, wherever the folder is moved."""
    (linker,) = root.glob("usr/lib*/ld-linux-*.so.*")
    libraries = ":".join(f'"$root"/{folder.relative_to(root)}' for folder in debian.library_folders(root))
    program = f'"$root"/{shlex.quote(str(python.relative_to(root)))}'
    launcher.write_text(
        "#!/bin/sh\n"
        'root=$(dirname "$0")/root\n'
        f'exec "$root"/{linker.relative_to(root)} --library-path {libraries} --argv0 {program} {program} "$@"\n'
    )
    launcher.chmod(0o755)
