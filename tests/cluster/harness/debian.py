"""Programs from Debian or Ubuntu packages: downloaded and unpacked, never installed."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of

NODE_PACKAGES = ("containerd", "runc", "containernetworking-plugins", "nftables", "busybox-static")

KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""With these, apt verifies what it downloads from any supported release of Debian."""


def node_packages() -> Recipe:
    """Container runtime, network plugins, nft and busybox, with those of their dependencies that are missing here."""
    release = platform.freedesktop_os_release()
    name = f"packages-{release['ID']}-{release.get('VERSION_ID', 'unversioned')}"
    return Recipe(name, key_of(*NODE_PACKAGES, platform.machine()), lambda folder: unpack(NODE_PACKAGES, (), folder))


def environment(folder: Path) -> dict[str, str]:
    """The variables under which the unpacked programs of a node find each other and their libraries."""
    return {
        "PATH": f"{folder}/usr/sbin:{folder}/usr/bin:{folder}/sbin:{folder}/bin:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": ":".join(map(str, library_folders(folder))),
    }


def library_folders(root: Path) -> list[Path]:
    """The folders of an unpacked system that the dynamic linker searches."""
    architecture = f"{platform.machine()}-linux-gnu"
    return [root / "usr/lib" / architecture, root / "lib" / architecture]


def bare(release: str, state: Path) -> tuple[str, ...]:
    """Options under which apt installs from a release of Debian, as on a machine without any package.

    Its package lists and configuration are in the folder `state`. The mirrors are those that this machine's apt uses
    for Debian. Raises `ToolsMissingError`.
    """
    (state / "lists/partial").mkdir(parents=True)
    (state / "cache/archives/partial").mkdir(parents=True)
    sources = state / "debian.list"
    lines = (f"deb [signed-by={KEYS}] {mirror} {suite} main\n" for mirror, suite in _suites(release))
    sources.write_text("".join(lines))
    settings = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": state / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": state / "cache",
        "Acquire::Languages": "none",
        **_AS_BUILDER,
    }
    options = _options(settings)
    _run(["apt-get", *options, "update"], cwd=state)
    return options


def unpack(packages: tuple[str, ...], options: tuple[str, ...], folder: Path) -> None:
    """Unpack packages, and what apt would install with them, into a folder. Raises `ToolsMissingError`."""
    _check()
    downloads = folder / "downloads"
    downloads.mkdir()
    wanted = sorted({*packages, *_dependencies(packages, options)})
    _run(["apt-get", *options, *_options(_AS_BUILDER), "download", *wanted], cwd=downloads)
    for archive in sorted(downloads.glob("*.deb")):
        _run(["dpkg", "-x", str(archive), str(folder)], cwd=folder)
    shutil.rmtree(downloads)


# apt's own user may not enter the cache folder.
_AS_BUILDER = {"APT::Sandbox::User": "root"}


def _suites(release: str) -> Iterable[tuple[str, str]]:
    """The mirrors of Debian that this machine uses, each with its suite of another release."""
    _check()
    form = ("--format", "$(REPO_URI) $(RELEASE)")
    listed = _run(["apt-get", "indextargets", *form, "Created-By: Packages", "Origin: Debian"], cwd=Path("/"))
    known = {(mirror, suite) for mirror, suite in map(str.split, listed.splitlines())}
    # bookworm, bookworm-updates, bookworm-security; backports and other suites are not part of the image.
    found = {(mirror, re.sub(r"^[a-z]+", release, suite)) for mirror, suite in known if "backports" not in suite}
    if not found or not KEYS.is_file():
        raise ToolsMissingError(
            f"the image's Python comes from Debian {release}: apt needs package lists of a Debian mirror "
            f"(`apt-get update`) and {KEYS} (package debian-archive-keyring)"
        )
    return sorted(found)


def _dependencies(packages: tuple[str, ...], options: tuple[str, ...]) -> list[str]:
    """The packages that apt would install together with these; apt only simulates and changes nothing."""
    plan = _run(["apt-get", "--simulate", *options, "--no-install-recommends", "install", *packages], cwd=Path("/"))
    return re.findall(r"^Inst (\S+)", plan, re.MULTILINE)


def _options(settings: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))


def _check() -> None:
    for program in ("apt-get", "dpkg"):
        if not shutil.which(program):
            raise ToolsMissingError(
                f"{program} is not on PATH: the node's programs and the image's Python are packages of Debian or Ubuntu"
            )


def _run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        hint = "; `apt-get update` may help" if command[0] == "apt-get" else ""
        raise ToolsMissingError(f"`{' '.join(command)}` failed{hint}: {done.stderr.strip()}")
    return done.stdout
