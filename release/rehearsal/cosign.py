"""cosign, built from its Go module."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.harness.cache import Recipe, key_of
from tests.cluster.harness.gobuild import FLAGS, build

_SOURCE = Path(__file__).parent / "go"
_PACKAGE = "github.com/sigstore/cosign/v2/cmd/cosign"


def cosign() -> Recipe:
    """`cosign` of the version in its go.mod."""
    key = key_of(_SOURCE, *FLAGS)
    return Recipe("cosign", key, lambda folder: build(_SOURCE, folder / "cosign", package=_PACKAGE))
