"""Programs from Debian or Ubuntu packages: downloaded and unpacked, never installed."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from tests.cluster.harness import image
from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of

NODE_PACKAGES = ("containerd", "runc", "containernetworking-plugins", "nftables", "busybox-static")

PYTHON_PACKAGES = ("python3",)

# Asks apt what it would install on a machine without any package.
_BARE = ("-o", "Dir::State::status=/dev/null")


def node_packages() -> Recipe:
    """Container runtime, network plugins, nft and busybox, with those of their dependencies that are missing here."""
    return Recipe(f"packages-{_release()}", _key(NODE_PACKAGES), lambda folder: _unpack(NODE_PACKAGES, (), folder))


def python() -> Recipe:
    """The layer of an image, `layer.tar`, with Python and all that it needs; `version` names it as `3.11`."""
    return Recipe(f"python-{_release()}", _key(PYTHON_PACKAGES), _pack_python)


def environment(folder: Path) -> dict[str, str]:
    """The variables under which the unpacked programs of a node find each other and their libraries."""
    architecture = f"{platform.machine()}-linux-gnu"
    libraries = [folder / "usr/lib" / architecture, folder / "lib" / architecture]
    return {
        "PATH": f"{folder}/usr/sbin:{folder}/usr/bin:{folder}/sbin:{folder}/bin:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
    }


def _release() -> str:
    release = platform.freedesktop_os_release()
    return f"{release['ID']}-{release.get('VERSION_ID', 'unversioned')}"


def _key(packages: tuple[str, ...]) -> str:
    return key_of(*packages, platform.machine())


def _pack_python(folder: Path) -> None:
    root = folder / "root"
    root.mkdir()
    _unpack(PYTHON_PACKAGES, _BARE, root)
    (root / "tmp").mkdir(exist_ok=True)
    (python,) = (root / "usr/bin").glob("python3.[0-9]*")
    (folder / "version").write_text(python.name.removeprefix("python"))
    for documentation in ("usr/share/doc", "usr/share/man", "usr/share/locale"):
        shutil.rmtree(root / documentation, ignore_errors=True)
    image.pack_layer(root, folder / "layer.tar")
    shutil.rmtree(root)


def _unpack(packages: tuple[str, ...], options: tuple[str, ...], folder: Path) -> None:
    for program in ("apt-get", "dpkg"):
        if not shutil.which(program):
            raise ToolsMissingError(f"{program} is not on PATH: {', '.join(packages)} come from Debian or Ubuntu")
    downloads = folder / "downloads"
    downloads.mkdir()
    # Download as the user who builds: apt's own user may not enter the cache folder.
    wanted = sorted({*packages, *_dependencies(packages, options)})
    _run(["apt-get", "-o", "APT::Sandbox::User=root", "download", *wanted], cwd=downloads)
    for archive in sorted(downloads.glob("*.deb")):
        _run(["dpkg", "-x", str(archive), str(folder)], cwd=folder)
    shutil.rmtree(downloads)


def _dependencies(packages: tuple[str, ...], options: tuple[str, ...]) -> list[str]:
    """The packages that apt would install together with these; apt only simulates and changes nothing."""
    plan = _run(["apt-get", "--simulate", *options, "--no-install-recommends", "install", *packages], cwd=Path("/"))
    return re.findall(r"^Inst (\S+)", plan, re.MULTILINE)


def _run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        hint = "; `apt-get update` may help" if command[0] == "apt-get" else ""
        raise ToolsMissingError(f"`{' '.join(command)}` failed{hint}: {done.stderr.strip()}")
    return done.stdout
