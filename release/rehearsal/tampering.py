"""An attacker with the right to push: a changed image under the released tag, and with the released signature."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from release.rehearsal.guide import FailedError

if TYPE_CHECKING:
    from release.rehearsal.engine import Engine
    from release.rehearsal.guide import Reader
    from release.rehearsal.registry import Registry

_ANY = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"


def refused(engine: Engine, reader: Reader, registry: Registry, repository: str, version: str) -> list[str]:
    """Return what verification says about each attack. Raises `FailedError` where it accepts one."""
    released, tag = f"{registry.address}/{repository}:{version}", f"{registry.address}/{repository}:tampered"
    container = engine("buildah", "from", "--pull-never", released).strip()
    engine("buildah", "config", "--entrypoint", '["/bin/sh"]', container)
    engine("buildah", "commit", "--quiet", "--rm", container, tag)
    digest = Path(reader.clone, "build", "tampered")
    engine("buildah", "push", "--quiet", f"--digestfile={digest}", tag)
    changed = digest.read_text().strip()
    said = [f"changed image: {_refusal(reader, f'{registry.address}/{repository}@{changed}')}"]
    _copy_signature(registry, repository, reader.read("digest"), changed)
    said.append(
        f"changed image with the released signature: {_refusal(reader, f'{registry.address}/{repository}@{changed}')}"
    )
    other = reader.clone / "build" / "other"
    other.mkdir()
    subprocess.run(["cosign", "generate-key-pair"], cwd=other, env=reader.environment, check=True, capture_output=True)  # noqa: S607
    image = f"{registry.address}/{repository}@{reader.read('digest')}"
    return [*said, f"released image, another key: {_refusal(reader, image, 'build/other/cosign.pub')}"]


def _copy_signature(registry: Registry, repository: str, released: str, changed: str) -> None:
    """Store the signature of one digest under the name that cosign gives to the signature of another."""
    signature = registry.get(f"{repository}/manifests/{_signature(released)}", _ANY)
    kind = json.loads(signature)["mediaType"]
    registry.put(f"{repository}/manifests/{_signature(changed)}", signature, kind)


def _signature(digest: str) -> str:
    return digest.replace(":", "-") + ".sig"


def _refusal(reader: Reader, image: str, key: str = "cosign.pub") -> str:
    """The reason for which verification refuses an image. Raises `FailedError` where it does not."""
    command = ["cosign", "verify", "--key", key, "--insecure-ignore-tlog", image]
    environment = os.environ | dict(reader.environment)
    done = subprocess.run(command, cwd=reader.clone, env=environment, capture_output=True, text=True, check=False)
    if not done.returncode:
        raise FailedError(f"`{' '.join(command)}` accepts an image that it must refuse")
    return next(line for line in done.stderr.splitlines() if line.startswith(("Error", "error")))
