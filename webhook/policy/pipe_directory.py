"""The pipe directory, through which CUDA clients connect to the MPS control daemon, in the container and on the host.

Values equal those that the device plugin's Allocate returns (NVIDIA/k8s-device-plugin internal/plugin/mps.go).
"""

from __future__ import annotations

from webhook.policy.pods.pod import clean_path
from webhook.policy.settings.injections import PipeDirectoryInjection, PipeMountInjection

_LABEL_LIMIT = 63


class Pipe:
    """The pipe directory of one resource: `path` in the container, `host` on the node, and its volume.

    `clean` and `clean_host` are these paths without double or trailing slashes; `below` is the prefix of paths below.
    """

    __slots__ = ("below", "clean", "clean_host", "host", "path", "source", "volume")

    def __init__(self, resource: str, directory: PipeDirectoryInjection, mount: PipeMountInjection) -> None:
        below = f"/{resource}/pipe" if directory.per_resource else ""
        self.path = directory.container_root.rstrip("/") + below
        self.host = mount.mps_root.rstrip("/") + below
        self.clean = clean_path(self.path)
        self.below = self.clean + "/"
        self.clean_host = clean_path(self.host)
        self.volume = volume_name(resource)
        self.source = {"path": self.host, "type": mount.type} if mount.type else {"path": self.host}


def volume_name(resource: str) -> str:
    """The name of the volume: a DNS label, shortened with a hash."""
    letters = (char if char.isascii() and char.isalnum() else "-" for char in resource.lower())
    label = f"gpushare-mps-{''.join(letters)}".strip("-")
    if len(label) <= _LABEL_LIMIT:
        return label
    from hashlib import sha256  # loads OpenSSL, for names that hardly occur

    digest = sha256(resource.encode()).hexdigest()[:8]
    return f"{label[: _LABEL_LIMIT - 9].rstrip('-')}-{digest}"
