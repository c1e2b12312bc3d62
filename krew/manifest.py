"""The manifest of the plugin, which krew reads: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import yaml

from krew.archive import LAUNCHER
from krew.platforms import PYTHONS, Platform
from webhook import __version__

_DESCRIPTION = (
    "Checks manifests of pods that share NVIDIA GPUs through MPS as the admission webhook gpushare-webhook does, with "
    "file and line, and shows the edits that it makes. Needs no cluster. Try kubectl gpushare check pod.yaml"
)


def file_name(platform: Platform) -> str:
    """The file name of the archive for a platform."""
    return f"kubectl-gpushare-{__version__}-{platform.name}.tar.gz"


def manifest(archives: Mapping[Platform, bytes], base_url: str) -> str:
    """The manifest, for archives that can be downloaded below a URL."""
    content = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "gpushare"},
        "spec": {
            "version": f"v{__version__}",
            "shortDescription": "Check pods that share NVIDIA GPUs through MPS",
            "description": _DESCRIPTION,
            "caveats": f"Needs CPython {PYTHONS[0]} to {PYTHONS[-1]} on PATH.",
            "platforms": [_platform(one, archives[one], base_url) for one in archives],
        },
    }
    return yaml.safe_dump(content, sort_keys=False, width=100)


def _platform(platform: Platform, archive: bytes, base_url: str) -> dict[str, Any]:
    return {
        "selector": {"matchLabels": {"os": platform.os, "arch": platform.arch}},
        "uri": f"{base_url.rstrip('/')}/{file_name(platform)}",
        "sha256": sha256(archive).hexdigest(),
        "bin": LAUNCHER,
    }
