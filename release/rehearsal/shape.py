"""Compare the built image with docs/explanation/image.md, the Dockerfile and the release guide."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from release.image.lock import LOCK, PYTHON
from release.rehearsal.guide import FailedError
from tests.cluster.harness.webhook_image import CONFIG, HOME
from tests.project.repository import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from release.rehearsal.engine import Engine

PAGE = ROOT / "docs" / "explanation" / "image.md"
_LABEL = "org.opencontainers.image."
_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
_TOLERANCE = 0.1
"""How far a size may be from the page's: libraries and Debian's packages change between two releases."""


def check(engine: Engine, image: str, expected: Mapping[str, str]) -> list[str]:
    """Return the image's figures, one a line; `expected` are its labels. Raises `FailedError` with all differences."""
    described = engine.described(image)
    sizes = {}
    with engine.mounted(image) as root:
        sizes = {"`/opt/gpushare-webhook`": _megabytes(root / HOME), "the whole image": _megabytes(root)}
        layers = len(described["rootfs"]["diff_ids"])
        wrong = [*_configuration(described, expected), *_content(root), *_sizes(sizes), *layers_of_page(layers)]
    if wrong:
        raise FailedError("\n".join(f"the image: {one}" for one in wrong))
    return [f"{name}: {size:.0f} MB unpacked" for name, size in sizes.items()] + [f"layers: {layers}"]


def _configuration(described: Mapping[str, Any], expected: Mapping[str, str]) -> Iterator[str]:
    config = described["config"]
    environment = dict(entry.split("=", 1) for entry in config["Env"])
    if config["User"] != CONFIG.user:
        yield f"its user is {config['User']!r}, not {CONFIG.user}"
    if tuple(config["Entrypoint"]) != CONFIG.entrypoint:
        yield f"its entrypoint is {config['Entrypoint']}"
    if not environment.items() >= CONFIG.environment.items():
        yield f"its environment is {environment}"
    labels: dict[str, str] = config["Labels"]
    yield from (f"the label {name} is empty" for name, value in labels.items() if not value)
    for name, value in expected.items():
        if labels.get(_LABEL + name) != value:
            yield f"the label {_LABEL}{name} is {labels.get(_LABEL + name)!r}, not {value!r}"


def _content(root: Path) -> Iterator[str]:
    """The files contain the locked libraries with their licences, and no tool of the build."""
    home = root / HOME
    installed = {folder.name.removesuffix(".dist-info").lower() for folder in home.glob("*.dist-info")}
    locked = {_library(line) for line in re.findall(r"^(\S+==\S+)", LOCK.read_text(), re.MULTILINE)}
    if installed != locked:
        yield f"its libraries differ from {LOCK.name}: {sorted(installed ^ locked)}"
    if not (root / f"usr/bin/python{PYTHON}").exists():
        yield f"it lacks Python {PYTHON}"
    if (home / "LICENSE").read_bytes() != (ROOT / "LICENSE").read_bytes():
        yield "its licence is not that of the repository"
    if not list((home / "webhook").rglob("*.pyc")):
        yield "it has no byte code of the webhook"
    for tool in ("usr/bin/pip3", "etc/pip.conf", "run/secrets/ca.pem", "src", "usr/bin/gcc"):
        if os.path.lexists(root / tool):
            yield f"it contains /{tool}, which belongs to the build"


def _library(pin: str) -> str:
    """A requirement `NAME==VERSION` with the name as in the name of a `.dist-info` folder."""
    name, version = pin.split("==")
    return f"{re.sub(r'[-_.]+', '_', name).lower()}-{version}"


def _sizes(sizes: Mapping[str, float]) -> Iterator[str]:
    page = PAGE.read_text()
    for name, size in sizes.items():
        (shown,) = re.findall(rf"^\| {re.escape(name)} \| ([\d,]+) MB \|", page, re.MULTILINE)
        if abs(size - float(shown)) > _TOLERANCE * float(shown):
            yield f"{name} has {size:.0f} MB, and {PAGE.name} says {shown} MB"


def layers_of_page(found: int) -> Iterator[str]:
    """The difference between a number of layers and the one that the page names, if there is one."""
    (shown,) = re.findall(r"buildah has (\w+) layers", " ".join(PAGE.read_text().split()))
    if shown not in (_NUMBERS.get(found), str(found)):
        yield f"it has {found} layers, and {PAGE.name} says {shown}"


def _megabytes(folder: Path) -> float:
    """The size of the files in a folder; a file with several names counts once."""
    found = [path.lstat() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return sum({(status.st_dev, status.st_ino): status.st_size for status in found}.values()) / 1e6
