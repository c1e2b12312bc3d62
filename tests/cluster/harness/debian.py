"""Container runtime, network plugins, nft and busybox: packages of this Debian or Ubuntu, unpacked, not installed."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from harness.cache import Recipe, ToolsMissingError, key_of

PACKAGES = ("containerd", "runc", "containernetworking-plugins", "nftables", "busybox-static")


def packages() -> Recipe:
    """A folder into which `PACKAGES` and those of their dependencies that are not installed here are unpacked."""
    release = platform.freedesktop_os_release()
    name = f"{release['ID']}-{release.get('VERSION_ID', 'unversioned')}"
    return Recipe(f"packages-{name}", key_of(*PACKAGES, platform.machine(), Path(__file__)), _unpack)


def environment(folder: Path) -> dict[str, str]:
    """The variables under which the unpacked programs find each other and their libraries."""
    architecture = f"{platform.machine()}-linux-gnu"
    libraries = [folder / "usr/lib" / architecture, folder / "lib" / architecture]
    return {
        "PATH": f"{folder}/usr/sbin:{folder}/usr/bin:{folder}/sbin:{folder}/bin:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
    }


def _unpack(folder: Path) -> None:
    for program in ("apt-get", "dpkg"):
        if not shutil.which(program):
            raise ToolsMissingError(
                f"{program} is not on PATH: the node layer takes {', '.join(PACKAGES)} from Debian or Ubuntu"
            )
    downloads = folder / "downloads"
    downloads.mkdir()
    # Unpacked as who builds, not as apt's own user, which may not enter the cache folder.
    _run(["apt-get", "-o", "APT::Sandbox::User=root", "download", *PACKAGES, *missing_dependencies()], cwd=downloads)
    for archive in sorted(downloads.glob("*.deb")):
        _run(["dpkg", "-x", str(archive), str(folder)], cwd=folder)
    shutil.rmtree(downloads)


def missing_dependencies() -> list[str]:
    """The packages that apt would install together with `PACKAGES`; it is asked to simulate and changes nothing."""
    plan = _run(["apt-get", "--simulate", "--no-install-recommends", "install", *PACKAGES], cwd=Path("/"))
    planned = set(re.findall(r"^Inst (\S+)", plan, re.MULTILINE))
    return sorted(planned - set(PACKAGES))


def _run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        hint = "; `apt-get update` may help" if command[0] == "apt-get" else ""
        raise ToolsMissingError(f"`{' '.join(command)}` failed{hint}: {done.stderr.strip()}")
    return done.stdout
