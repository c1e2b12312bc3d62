"""Paths of the programs that a cluster runs. Run as a module, it builds the missing ones."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.harness import debian, gobuild, webhook_image
from tests.cluster.harness.cache import ToolsMissingError

if TYPE_CHECKING:
    from tests.cluster.harness.cache import Recipe

DEFAULT_KUBERNETES = "1.36.3"


def kubernetes_version() -> str:
    """The version under test: `$KUBERNETES_VERSION` or the default."""
    return os.environ.get("KUBERNETES_VERSION") or DEFAULT_KUBERNETES


@dataclass(frozen=True, slots=True)
class ControlPlaneTools:
    """The programs of the control plane."""

    api_server: Path
    etcd: Path
    controller_manager: Path
    scheduler: Path
    kubectl: Path

    @classmethod
    def find(cls, version: str) -> ControlPlaneTools:
        """The built programs. API server and etcd come from `$KUBEBUILDER_ASSETS` where that is set.

        Raises `ToolsMissingError`.
        """
        kubernetes = gobuild.kubernetes(version).find()
        assets = os.environ.get("KUBEBUILDER_ASSETS")
        return cls(
            api_server=_asset(assets, "kube-apiserver") if assets else kubernetes / "kube-apiserver",
            etcd=_asset(assets, "etcd") if assets else gobuild.etcd().find() / "etcd",
            controller_manager=kubernetes / "kube-controller-manager",
            scheduler=kubernetes / "kube-scheduler",
            kubectl=kubernetes / "kubectl",
        )


@dataclass(frozen=True, slots=True)
class NodeTools:
    """The programs of a node."""

    kubelet: Path
    proxy: Path
    device_plugin: Path
    packages: Path

    @classmethod
    def find(cls, version: str) -> NodeTools:
        """The built and unpacked programs. Raises `ToolsMissingError`."""
        kubernetes = gobuild.kubernetes(version).find()
        return cls(
            kubelet=kubernetes / "kubelet",
            proxy=kubernetes / "kube-proxy",
            device_plugin=gobuild.device_plugin().find() / "nvidia-device-plugin",
            packages=debian.node_packages().find(),
        )


def _asset(folder: str, name: str) -> Path:
    path = Path(folder) / name
    if not path.is_file():
        raise ToolsMissingError(f"KUBEBUILDER_ASSETS is set but {path} is missing")
    return path


def recipes(version: str) -> list[Recipe]:
    """All recipes, the quick ones first, so that a failure shows early."""
    return [
        debian.node_packages(),
        webhook_image.python(),
        webhook_image.libraries(),
        gobuild.etcd(),
        gobuild.device_plugin(),
        gobuild.cert_manager(),
        gobuild.kube_state_metrics(),
        gobuild.prometheus(),
        gobuild.kubernetes(version),
    ]


def main() -> int:
    """Build what is missing, and print one line for each program."""
    for recipe in recipes(kubernetes_version()):
        began = time.monotonic()
        state = "there" if recipe.folder.is_dir() else "built"
        try:
            folder = recipe.make()
        except ToolsMissingError as problem:
            print(f"cluster-tools: {problem}", file=sys.stderr)
            return 1
        print(f"{folder} {state} in {time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
