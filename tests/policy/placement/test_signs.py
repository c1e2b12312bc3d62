"""Labels that say that a node has GPUs of NVIDIA, before any device plugin runs there."""

from __future__ import annotations

import pytest

from webhook.policy.placement.cluster_objects import Taint
from webhook.policy.placement.platforms import shows_gpus


@pytest.mark.parametrize(
    ("key", "value", "shows"),
    [
        ("nvidia.com/gpu.present", "true", True),
        ("kubernetes.azure.com/accelerator", "nvidia", True),
        ("kubernetes.azure.com/accelerator", "amd", False),
        ("k8s.amazonaws.com/accelerator", "nvidia-tesla-t4", True),
        ("k8s.amazonaws.com/accelerator", "aws-neuron", False),
        ("karpenter.k8s.aws/instance-gpu-name", "l40s", True),
        ("karpenter.k8s.aws/instance-gpu-name", "radeon-pro-v520", False),
        ("cloud.google.com/gke-accelerator", "nvidia-l4", True),
        ("feature.node.kubernetes.io/pci-10de.present", "true", True),
        ("feature.node.kubernetes.io/pci-0302_10de.present", "true", True),
        ("feature.node.kubernetes.io/pci-0302_10de.present", "false", False),
        ("feature.node.kubernetes.io/pci-0300_8086.present", "true", False),
        ("extensions.talos.dev/nvidia-container-toolkit-production", "580", True),
        ("nvidia.com/mps.capable", "true", True),
        ("nvidia.com/device-plugin.config", "a", True),
        ("nvidia.com/gpu.count", "0", False),
        ("nvidia.com/gpu.count", "2", True),
        ("pool", "h100", False),
    ],
)
def test_labels_show_gpus(key: str, value: str, shows: bool) -> None:
    assert shows_gpus({key: value}) is shows


@pytest.mark.parametrize(("key", "shows"), [("nvidia.com/gpu", True), ("team", False)])
def test_taint_shows_gpus(key: str, *, shows: bool) -> None:
    assert shows_gpus({}, [Taint("team", "NoSchedule"), Taint(key, "NoSchedule")]) is shows
