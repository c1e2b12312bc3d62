"""The pipe directory: where CUDA clients meet the MPS control daemon, in the container and on the host.

Values equal those that the device plugin's Allocate returns (NVIDIA/k8s-device-plugin internal/plugin/mps.go).
"""

from __future__ import annotations

from hashlib import sha256

from webhook.policy.settings import PipeDirectoryInjection, PipeMountInjection

VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
_LABEL_LIMIT = 63


class Pipe:
    """The paths of the pipe directory and the name of its volume, for each resource."""

    __slots__ = ("_container_root", "_mps_root", "_per_resource")

    def __init__(self, directory: PipeDirectoryInjection, mount: PipeMountInjection) -> None:
        self._per_resource = directory.per_resource
        self._container_root = directory.container_root.rstrip("/")
        self._mps_root = mount.mps_root.rstrip("/")

    def in_container(self, resource: str) -> str:
        """The path that the variable names, and where the mount lies."""
        return f"{self._container_root}/{resource}/pipe" if self._per_resource else self._container_root

    def on_host(self, resource: str) -> str:
        """The folder of the host that is mounted there."""
        return f"{self._mps_root}/{resource}/pipe" if self._per_resource else self._mps_root

    @staticmethod
    def volume(resource: str) -> str:
        """The name of the volume: a DNS label, shortened with a hash."""
        label = "gpushare-mps-" + "".join(char if char.isalnum() else "-" for char in resource.lower())
        label = label.strip("-")
        if len(label) <= _LABEL_LIMIT:
            return label
        digest = sha256(resource.encode()).hexdigest()[:8]
        return f"{label[: _LABEL_LIMIT - 9].rstrip('-')}-{digest}"
