"""Findings about the MPS control daemon and the labels of its nodes, and about what nodes offer."""

from __future__ import annotations

import pytest

from tests.cli.cluster import FakeCluster
from tests.diagnose.both import put
from tests.diagnose.doctor.asked import found, only
from tests.diagnose.doctor.healthy import (
    CAPABLE,
    CONFIG,
    DAEMON,
    DISCOVERY,
    PLUGIN,
    STACK,
    configure,
    label,
    mps,
    node,
    remove,
    remove_daemon_set,
)
from webhook.cluster import objects as kinds


def amounts(cluster: FakeCluster, name: str, **units: int) -> None:
    """Set the capacity and the allocatable of GPUs."""
    for part, count in units.items():
        cluster.objects[kinds.NODE.path(None, name)]["status"][part]["nvidia.com/gpu"] = str(count)


def status(cluster: FakeCluster, name: str, **numbers: int) -> None:
    """Set numbers in the status of a DaemonSet."""
    cluster.objects[kinds.DAEMON_SET.path(STACK, name)]["status"].update(numbers)


def test_daemon_is_missing(cluster: FakeCluster) -> None:
    remove_daemon_set(cluster, DAEMON)
    for name in ("gpu-1", "gpu-2"):
        amounts(cluster, name, allocatable=0)
    finding = only(cluster)
    assert (finding.finding, finding.severity, finding.subject) == ("daemon-missing", "error", "gpu-1 and 1 more")


def test_daemon_wants_no_pods_without_discovery(cluster: FakeCluster) -> None:
    remove(cluster, kinds.DAEMON_SET, DISCOVERY, STACK)
    for name in ("gpu-1", "gpu-2"):
        label(cluster, name, CAPABLE, None)
    status(cluster, DAEMON, desiredNumberScheduled=0, numberReady=0)
    finding = only(cluster)
    assert (finding.finding, finding.subject) == ("daemon-wants-no-pods", f"{STACK}/{DAEMON}")
    assert finding.cause == f"nothing sets the label {CAPABLE}: GPU feature discovery is not installed"
    assert "gfd.enabled: true" in str(finding.remedy)


@pytest.mark.parametrize(
    ("value", "ready", "cause"),
    [
        (None, 2, f"GPU feature discovery did not set the label {CAPABLE}"),
        (None, 0, f"the label {CAPABLE} is missing: GPU feature discovery does not run there"),
        ("false", 2, f"the label {CAPABLE} is false: GPU feature discovery was not restarted since the edit"),
    ],
)
def test_daemon_wants_no_pods_with_discovery(cluster: FakeCluster, value: str | None, ready: int, cause: str) -> None:
    for name in ("gpu-1", "gpu-2"):
        label(cluster, name, CAPABLE, value)
    status(cluster, DAEMON, desiredNumberScheduled=0, numberReady=0)
    status(cluster, DISCOVERY, numberReady=ready)
    finding = only(cluster)
    assert finding.finding == "daemon-wants-no-pods"
    assert finding.cause.startswith(cause)


def test_daemon_is_not_ready(cluster: FakeCluster) -> None:
    status(cluster, DAEMON, numberReady=1)
    amounts(cluster, "gpu-1", allocatable=0)
    assert found(cluster) == ["daemon-not-ready"]


def test_label_by_hand(cluster: FakeCluster) -> None:
    labels = cluster.objects[kinds.NODE.path(None, "gpu-1")]["metadata"]["labels"]
    for key in [key for key in labels if key not in (CAPABLE, "nvidia.com/gpu.present")]:
        del labels[key]
    finding = only(cluster)
    assert (finding.finding, finding.severity, finding.subject) == ("label-without-discovery", "warning", "gpu-1")


def test_configurations_that_share_nothing_need_no_daemon(cluster: FakeCluster) -> None:
    configure(cluster, **{"mps-4": "version: v1"})
    remove_daemon_set(cluster, DAEMON)
    for name in ("gpu-1", "gpu-2"):
        amounts(cluster, name, allocatable=1, capacity=1)
        label(cluster, name, CAPABLE, "false")
        label(cluster, name, "nvidia.com/gpu.sharing-strategy", "none")
    assert found(cluster) == []


def test_labels_that_contradict_the_plugin(cluster: FakeCluster) -> None:
    configure(cluster, whole="version: v1")
    put(cluster, kinds.NODE, node("gpu-3", 1, labels={CONFIG: "whole"}))
    finding = only(cluster)
    assert (finding.finding, finding.severity, finding.subject) == ("labels-differ", "warning", "gpu-3")
    assert str(finding.remedy) == f"kubectl -n {STACK} rollout restart daemonset/{DISCOVERY}"
    remove(cluster, kinds.DAEMON_SET, DISCOVERY, STACK)
    assert str(only(cluster).remedy).startswith("kubectl label node gpu-3 nvidia.com/gpu.sharing-strategy- ")
    label(cluster, "gpu-3", "nvidia.com/gpu.sharing-strategy", "none")
    assert found(cluster) == []


# What nodes offer.


def test_nodes_are_grouped_by_configuration_and_amount(cluster: FakeCluster) -> None:
    configure(cluster, **{"mps-8": mps(8)})
    label(cluster, "gpu-2", CONFIG, "mps-8")
    for number in range(3, 15):
        put(cluster, kinds.NODE, node(f"gpu-{number:02}", labels={CONFIG: "mps-8"}))
    finding = only(cluster)
    assert finding.subject == "gpu-03 and 12 more"
    assert finding.evidence[-1].endswith(" and 3 more")


def test_unhealthy_cards_are_no_edit(cluster: FakeCluster) -> None:
    amounts(cluster, "gpu-1", allocatable=0)
    assert only(cluster).cause == "config mps-4, allocatable 0: the device plugin reports GPUs as unhealthy"


def test_plugin_that_registers_nothing(cluster: FakeCluster) -> None:
    amounts(cluster, "gpu-1", allocatable=0, capacity=0)
    finding = only(cluster)
    assert finding.cause.startswith("config mps-4, allocatable 0: the plugin and the daemon run")
    assert str(finding.remedy) == f"kubectl -n {STACK} logs daemonset/{PLUGIN}"


def test_multiple_of_replicas_is_right_without_the_number_of_cards(cluster: FakeCluster) -> None:
    for name, units in (("gpu-1", 8), ("gpu-2", 6)):
        label(cluster, name, "nvidia.com/gpu.count", None)
        amounts(cluster, name, allocatable=units, capacity=units)
    assert only(cluster).subject == "gpu-2"


def test_mig_devices_decide_for_themselves(cluster: FakeCluster) -> None:
    configure(cluster, **{"mps-4": "version: v1\nflags: {migStrategy: mixed}"})
    for name in ("gpu-1", "gpu-2"):
        label(cluster, name, CAPABLE, "false")
        label(cluster, name, "nvidia.com/gpu.sharing-strategy", "none")
        units = cluster.objects[kinds.NODE.path(None, name)]["status"]
        for part in ("allocatable", "capacity"):
            units[part] = {"nvidia.com/mig-1g.5gb": "7", "nvidia.com/gpu": "0"}
    assert found(cluster) == []


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("unreachable", ("node-not-ready", "error")),
        ("not-ready", ("node-not-ready", "error")),
        ("unschedulable", ("node-cordoned", "warning")),
    ],
)
def test_node_that_takes_no_pods(cluster: FakeCluster, state: str, expected: tuple[str, str]) -> None:
    taints = ({"key": f"node.kubernetes.io/{state}", "effect": effect} for effect in ("NoSchedule", "NoExecute"))
    put(cluster, kinds.NODE, node("gpu-3", taints=tuple(taints)))
    finding = only(cluster)
    assert (finding.finding, finding.severity) == expected
    assert "gpu-3" in str(finding.remedy)


# Templates of an autoscaler.
