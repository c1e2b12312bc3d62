"""Container images without a container engine: a folder packed as an archive that containerd imports."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def pack(
    name: str,
    root: Path,
    archive: Path,
    *,
    machine: str,
    entrypoint: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    user: str = "",
) -> None:
    """Write the folder `root` as an image of one layer, in the form of `docker save`.

    The same folder gives the same image.
    """
    layer = archive.with_suffix(".layer")
    with tarfile.open(layer, "w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(root.iterdir()):
            tar.add(path, path.name, filter=_plain)
    with layer.open("rb") as packed:
        digest = hashlib.file_digest(packed, "sha256").hexdigest()
    variables = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"} | dict(environment or {})
    config = json.dumps(
        {
            "architecture": _ARCHITECTURES[machine],
            "os": "linux",
            "created": "1970-01-01T00:00:00Z",
            "config": {
                "Env": [f"{key}={value}" for key, value in variables.items()],
                "Entrypoint": list(entrypoint) or None,
                "User": user,
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        }
    ).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}/layer.tar"]}]).encode()
    with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT) as tar:
        for member, content in ((config_name, config), ("manifest.json", manifest)):
            header = tarfile.TarInfo(member)
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))
        tar.add(layer, f"{digest}/layer.tar", filter=_plain)
    layer.unlink()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """An entry without time and owner; devices are left out, the runtime makes them."""
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return None if member.ischr() or member.isblk() else member
