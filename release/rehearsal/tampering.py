"""An attacker with the right to push: changed content under the released tag, without and with the released signature.

The tag leads to the changed image, and after that to the changed chart, while verification runs; then it leads to the
released content again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from release.rehearsal import former
from release.rehearsal.guide import FailedError
from tests.chart import tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from release.rehearsal.engine import Engine
    from release.rehearsal.guide import Reader
    from release.rehearsal.registry import Registry

_ANY = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
_CHART = "charts/gpushare-webhook"

# The messages of cosign 2.6: pkg/cosign/verify.go and verifiers.go, and sigstore's pkg/signature/ecdsa.go.
_UNSIGNED = "no signatures found"
_OF_ANOTHER = "invalid or missing digest in claim"
_BY_ANOTHER = "invalid signature when validating ASN.1 encoded signature"


@dataclass(frozen=True, slots=True)
class _Released:
    """A tag, and the manifest that the guide signed."""

    registry: Registry
    repository: str
    tag: str
    manifest: bytes

    @property
    def name(self) -> str:
        return f"{self.registry.address}/{self.repository}:{self.tag}"

    @property
    def digest(self) -> str:
        return _digest(self.manifest)

    def current(self) -> bytes:
        """The manifest that the tag leads to."""
        return self.registry.get(f"{self.repository}/manifests/{self.tag}", _ANY)

    def restore(self) -> None:
        """Let the tag lead to the signed manifest again."""
        self.registry.put(f"{self.repository}/manifests/{self.tag}", self.manifest, _kind(self.manifest))

    def copy_signature(self, changed: str) -> None:
        """Store the released signature under the name that cosign gives to that of another digest."""
        signature = self.registry.get(f"{self.repository}/manifests/{_signature(self.digest)}", _ANY)
        self.registry.put(f"{self.repository}/manifests/{_signature(changed)}", signature, _kind(signature))


def refused(engine: Engine, reader: Reader, registry: Registry, version: str) -> list[str]:
    """Return the refusal of each attack.

    Raises `FailedError` where verification accepts an attack, or refuses it for another reason.
    """
    image = _released(registry, former.IMAGE, version, reader.read("digest"))
    chart = _released(registry, _CHART, version, reader.read("chart-digest"))
    return [
        *_attacked("image", reader, image, lambda: _push_image(engine, image)),
        *_attacked("chart", reader, chart, lambda: _push_chart(engine, reader, registry)),
        f"released image, another key: {refusal(reader, image.name, _BY_ANOTHER, _another_key(reader))}",
    ]


def _released(registry: Registry, repository: str, tag: str, signed: str) -> _Released:
    found = registry.get(f"{repository}/manifests/{tag}", _ANY)
    released = _Released(registry, repository, tag, found)
    if released.digest != signed:
        raise FailedError(f"{released.name} has the digest {released.digest}, and the guide signed {signed}")
    return released


def _attacked(kind: str, reader: Reader, released: _Released, push: Callable[[], None]) -> Iterator[str]:
    """Push changed content under the released tag, and yield why verification refuses it."""
    with _replaced(released, push) as changed:
        yield f"changed {kind} under the released tag: {refusal(reader, released.name, _UNSIGNED)}"
        released.copy_signature(changed)
        yield f"changed {kind} with the released signature: {refusal(reader, released.name, _OF_ANOTHER)}"


@contextmanager
def _replaced(released: _Released, push: Callable[[], None]) -> Iterator[str]:
    """The digest that the tag leads to after a push; at the end, it leads to the released one."""
    push()
    changed = _digest(released.current())
    if changed == released.digest:
        raise FailedError(f"{released.name} still has the released digest after the push of changed content")
    try:
        yield changed
    finally:
        released.restore()
    if released.current() != released.manifest:
        raise FailedError(f"{released.name} does not have the released digest again")


def _push_image(engine: Engine, released: _Released) -> None:
    container = engine("buildah", "from", "--pull-never", released.name).strip()
    engine("buildah", "config", "--entrypoint", '["/bin/sh"]', container)
    engine("buildah", "commit", "--quiet", "--rm", container, "localhost/changed")
    engine("buildah", "push", "--quiet", "localhost/changed", f"docker://{released.name}")


def _push_chart(engine: Engine, reader: Reader, registry: Registry) -> None:
    folder = reader.clone / "build" / "changed"
    shutil.copytree(reader.clone / _CHART, folder / "gpushare-webhook")
    values = folder / "gpushare-webhook" / "values.yaml"
    values.write_text(values.read_text() + "\n# Changed.\n")
    packed = engine(tools.helm(), "package", "gpushare-webhook", folder=folder).strip().rpartition(" ")[2]
    engine(tools.helm(), "push", packed, f"oci://{registry.address}/{Path(_CHART).parent}", folder=folder)


def _another_key(reader: Reader) -> str:
    """The public key of a pair that signed nothing."""
    other = reader.clone / "build" / "other"
    command = ["cosign", "generate-key-pair", "--output-key-prefix", str(other)]
    subprocess.run(command, env=reader.environment, check=True, capture_output=True)
    return f"{other}.pub"


def _digest(manifest: bytes) -> str:
    return "sha256:" + hashlib.sha256(manifest).hexdigest()


def _signature(digest: str) -> str:
    return digest.replace(":", "-") + ".sig"


def _kind(manifest: bytes) -> str:
    kind: str = json.loads(manifest).get("mediaType", "application/vnd.oci.image.manifest.v1+json")
    return kind


def refusal(reader: Reader, name: str, expected: str, key: str = "build/cosign.pub") -> str:
    """The reason for which verification refuses a name. Raises `FailedError` where it is not the expected one."""
    command = ["cosign", "verify", "--key", key, "--insecure-ignore-tlog", name]
    environment = os.environ | dict(reader.environment)
    done = subprocess.run(command, cwd=reader.clone, env=environment, capture_output=True, text=True, check=False)
    if not done.returncode:
        raise FailedError(f"`{' '.join(command)}` accepts an attack")
    if expected not in done.stderr:
        raise FailedError(f"`{' '.join(command)}` fails, but not with {expected!r}: {done.stderr.strip()[-2000:]}")
    return expected
