"""Outputs for three clusters. Run as a module, it records `setups/` again: review the changes.

The charts of NVIDIA/k8s-device-plugin rendered the DaemonSets and ConfigMaps of `setups/*.cluster.yaml`; of a
DaemonSet, the names, images, commands and environments are kept.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml

from tests.cli.cluster import DEVICE_CLASSES, NAMESPACES, NODES, RUNTIME_CLASSES, FakeCluster, Object, running
from tests.cli.run import Ended, run

SETUPS = Path(__file__).parent / "setups"
MANIFESTS = ("-f", "manifests.yaml")
NAMESPACE = "nvidia-device-plugin"

CONFIG_MAPS = {
    "hand-labelled": "nvdp-nvidia-device-plugin-configs",
    "v100": "mps-config",
    "eks": "nvdp-nvidia-device-plugin-configs",
}
"""The ConfigMap of the device plugin in each set-up."""

LISTS = {"Node": NODES, "Namespace": NAMESPACES, "RuntimeClass": RUNTIME_CLASSES, "DeviceClass": DEVICE_CLASSES}
NAMED = {"ConfigMap": "/api/v1/namespaces/{}/configmaps/{}", "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets/{}"}


def cluster(setup: str) -> FakeCluster:
    """The cluster with the objects of a set-up."""
    lists: dict[str, list[Object]] = defaultdict(list, {path: [] for path in LISTS.values()})
    named: dict[str, Object] = {}
    for found in yaml.safe_load((SETUPS / f"{setup}.cluster.yaml").read_text())["items"]:
        kind, metadata = found["kind"], found["metadata"]
        if kind in LISTS:
            lists[LISTS[kind]].append(found)
        else:
            named[NAMED[kind].format(metadata["namespace"], metadata["name"])] = found
    return FakeCluster(lists, named)


def snapshot(setup: str, folder: Path) -> Ended:
    """The facts as a user gets them."""
    source = {
        "configMaps": [f"{NAMESPACE}/{CONFIG_MAPS[setup]}"],
        "daemonSet": f"{NAMESPACE}/nvdp-nvidia-device-plugin",
    }
    settings = folder / "plugin.yaml"
    settings.write_text(yaml.safe_dump({"facts": {"devicePlugin": source}}))
    with running(cluster(setup), folder) as kubeconfig:
        return run("snapshot", "--kubeconfig", kubeconfig, "--context", "prod", "--config", settings)


def facts(setup: str) -> tuple[str, Path]:
    return "--facts", SETUPS / f"{setup}.facts.yaml"


def checked(setup: str) -> Ended:
    return run("check", *MANIFESTS, *facts(setup))


def mutated(setup: str) -> Ended:
    return run("mutate", *MANIFESTS, *facts(setup), "-o", "diff", "--quiet")


def main() -> None:
    """Write the files that the tests compare."""
    for setup in CONFIG_MAPS:
        with TemporaryDirectory() as folder:
            (SETUPS / f"{setup}.facts.yaml").write_text(snapshot(setup, Path(folder)).out)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(SETUPS)
            (SETUPS / f"{setup}.check.txt").write_text(checked(setup).out)
            (SETUPS / f"{setup}.diff").write_text(mutated(setup).out)


if __name__ == "__main__":
    main()
