"""Container images without a container engine: folders packed as the layers of an archive that containerd imports."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_PATH = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


@dataclass(frozen=True, slots=True)
class Config:
    """How a container of the image runs."""

    entrypoint: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""


def pack_layer(root: Path, layer: Path) -> None:
    """Pack a folder as a layer. The same folder gives the same bytes."""
    with tarfile.open(layer, "w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(root.iterdir()):
            tar.add(path, path.name, filter=_plain)


def write_archive(name: str, layers: Sequence[Path], config: Config, archive: Path) -> None:
    """Write an image of packed layers, the lowest first, in the form of `docker save`."""
    digests = [_digest(layer) for layer in layers]
    described = _described(config, digests)
    config_name = hashlib.sha256(described).hexdigest() + ".json"
    members = [f"{digest}/layer.tar" for digest in digests]
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": members}]).encode()
    with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT) as tar:
        for member, content in ((config_name, described), ("manifest.json", manifest)):
            header = tarfile.TarInfo(member)
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))
        for member, layer in zip(members, layers, strict=True):
            tar.add(layer, member, filter=_plain)


def _described(config: Config, digests: Sequence[str]) -> bytes:
    """The image's configuration as the runtime reads it."""
    variables = [f"{key}={value}" for key, value in (_PATH | dict(config.environment)).items()]
    running = {"Env": variables, "Entrypoint": list(config.entrypoint), "User": config.user}
    return json.dumps(
        {
            "architecture": _ARCHITECTURES[platform.machine()],
            "os": "linux",
            "created": "1970-01-01T00:00:00Z",
            "config": running,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
        }
    ).encode()


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """An entry without time and owner. Devices are left out, because the runtime creates them."""
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return None if member.ischr() or member.isblk() else member
