"""Findings about the device plugin: pods, nodes, and configurations."""

from __future__ import annotations

import json

import pytest

from tests.cli.cluster import FakeCluster
from tests.diagnose.both import put
from tests.diagnose.doctor.asked import examined, found, only
from tests.diagnose.doctor.healthy import (
    CONFIG,
    CONFIGS,
    DAEMON,
    DISCOVERY,
    IMAGE,
    PLUGIN,
    PRESENT,
    STACK,
    configure,
    daemon_set,
    label,
    mps,
    node,
    pod,
    remove,
    remove_daemon_set,
)
from webhook.cluster import objects as kinds


def program(cluster: FakeCluster, name: str) -> dict[str, object]:
    """The pod's spec of a DaemonSet."""
    found: dict[str, object] = cluster.objects[kinds.DAEMON_SET.path(STACK, name)]["spec"]["template"]["spec"]
    return found


def test_empty_cluster_lacks_the_webhook_only() -> None:
    assert found(FakeCluster()) == ["webhook-not-installed"]


def test_unready_plugin_shows_words_of_kubelet(cluster: FakeCluster) -> None:
    cluster.objects[kinds.DAEMON_SET.path(STACK, PLUGIN)]["status"]["numberReady"] = 1
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}
    last = {"terminated": {"message": "NVML: driver not loaded"}}
    cluster.objects[kinds.POD.path(STACK, f"{PLUGIN}-gpu-2")]["status"] = {
        "phase": "Running",
        "containerStatuses": [{"name": "ctr", "state": waiting, "lastState": last}],
    }
    finding = only(cluster)
    assert (finding.finding, finding.severity, finding.subject) == ("plugin-not-ready", "error", f"{STACK}/{PLUGIN}")
    said = "container ctr: CrashLoopBackOff back-off 5m0s NVML: driver not loaded"
    assert finding.cause == "1 of 2 pods of the device plugin ready"
    assert finding.evidence == (f"pod {PLUGIN}-gpu-2 on gpu-2: {said}",)


@pytest.mark.parametrize(("units", "expected"), [(0, ["plugin-missing"]), (4, [])])
def test_plugin_is_missing_where_nothing_offers_gpus(units: int, expected: list[str]) -> None:
    cluster = FakeCluster()
    labels = {"nvidia.com/mps.capable": "false", "nvidia.com/gpu.sharing-strategy": "none"}
    put(cluster, kinds.NODE, node("gpu-1", units, labels=labels))
    assert found(cluster) == [*expected, "webhook-not-installed"]


def test_plugin_is_missing_beside_its_daemon(cluster: FakeCluster) -> None:
    remove_daemon_set(cluster, PLUGIN)
    finding = only(cluster)
    assert (finding.finding, finding.subject) == ("plugin-missing", "gpu-1 and 1 more")


def test_node_that_plugin_does_not_select(cluster: FakeCluster) -> None:
    put(cluster, kinds.NODE, node("gpu-3", 0, labels={PRESENT: "false"}))
    assert "plugin-missing" in found(cluster)


def test_host_with_its_own_stack_needs_no_daemon_set() -> None:
    cluster = FakeCluster()
    one = put(cluster, kinds.NODE, node("gpu-1"))
    one["status"]["nodeInfo"] = {"osImage": "Bottlerocket OS 1.60.0 (aws-k8s-1.34-nvidia)"}
    assert found(cluster) == ["webhook-not-installed"]


def test_two_plugins_on_a_node(cluster: FakeCluster) -> None:
    put(cluster, kinds.DAEMON_SET, daemon_set("second", "nvidia-device-plugin", 1, "gpu-operator"))
    containers = [{"name": "nvidia-device-plugin", "image": IMAGE}]
    owner = ("DaemonSet", "second")
    put(cluster, kinds.POD, pod("second-1", "gpu-operator", owner, "gpu-2", containers=containers))
    put(
        cluster,
        kinds.CONFIG_MAP,
        {"metadata": {"name": CONFIGS, "namespace": "gpu-operator"}, "data": {"mps-4": mps(4)}},
    )
    finding = only(cluster)
    assert (finding.finding, finding.subject) == ("two-plugins", "gpu-2")
    assert finding.evidence[0] == f"plugins: gpu-operator/second, {STACK}/{PLUGIN}"
    assert "kubectl" not in str(finding.remedy)  # neither is known to be wrong


def test_finished_pod_of_a_second_plugin_is_well(cluster: FakeCluster) -> None:
    containers = [{"name": "nvidia-device-plugin", "image": IMAGE}]
    put(cluster, kinds.POD, pod("old", "gpu-operator", None, "gpu-2", containers=containers))["status"] = {
        "phase": "Failed"
    }
    assert found(cluster) == []


def test_two_plugins_on_different_nodes_are_well(cluster: FakeCluster) -> None:
    put(cluster, kinds.NODE, node("gpu-3"))
    put(cluster, kinds.DAEMON_SET, daemon_set("second", "nvidia-device-plugin", 1))
    containers = [{"name": "nvidia-device-plugin", "image": IMAGE}]
    put(cluster, kinds.POD, pod("second-1", STACK, ("DaemonSet", "second"), "gpu-3", containers=containers))
    assert found(cluster) == []


@pytest.mark.parametrize(
    ("taint", "expected"),
    [
        ({"key": "team", "value": "ml", "effect": "NoSchedule"}, ["taint-not-tolerated", "taint-not-tolerated"]),
        ({"key": "team", "effect": "PreferNoSchedule"}, []),
        ({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}, []),
        ({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}, []),
    ],
)
def test_taints_of_gpu_nodes(cluster: FakeCluster, taint: dict[str, str], expected: list[str]) -> None:
    put(cluster, kinds.NODE, node("gpu-3", taints=(taint,)))
    answer = examined(cluster)
    assert [one.finding for one in answer.findings] == expected
    assert all("team=ml:NoSchedule" in one.cause and one.subject == "gpu-3" for one in answer.findings)


@pytest.mark.parametrize(
    "labels",
    [
        {"kubernetes.azure.com/accelerator": "nvidia"},
        {"k8s.amazonaws.com/accelerator": "nvidia-tesla-t4"},
        {"karpenter.k8s.aws/instance-gpu-name": "t4", "karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia"},
        {"cloud.google.com/gke-accelerator": "nvidia-l4"},
    ],
)
def test_tainted_nodes_of_clouds(labels: dict[str, str]) -> None:
    """The plugin starts on no GPU node, so that nothing shows whose it is."""
    cluster = FakeCluster()
    taints = [{"key": "type", "value": "gpu-spot", "effect": "NoSchedule"}]
    put(cluster, kinds.NODE, {"metadata": {"name": "spot-1", "labels": labels}, "spec": {"taints": taints}})
    put(cluster, kinds.DAEMON_SET, daemon_set("p", "nvidia-device-plugin-ctr", 1, "gpus", nodeSelector={}))
    missing, absent, _, repelled = examined(cluster).findings
    assert (missing.finding, absent.finding) == ("plugin-missing", "webhook-not-installed")
    assert "name its DaemonSet with --device-plugin-daemonset" in str(missing.remedy)
    assert (repelled.finding, repelled.severity, repelled.is_of_tenants) == ("taint-not-tolerated", "warning", True)
    toleration = "{key: type, operator: Exists, effect: NoSchedule}"
    assert str(repelled.remedy).startswith(f"add {toleration} to tolerations")
    named = examined(cluster, "gpus/p").findings
    assert ("taint-not-tolerated", "error") in [(one.finding, one.severity) for one in named]


def test_refused_configuration_is_an_error_where_a_node_uses_it(cluster: FakeCluster) -> None:
    configure(cluster, one=mps(1), broken="a: [")
    answer = examined(cluster)
    assert [(one.finding, one.severity) for one in answer.findings] == [("GPS030", "warning")] * 2
    label(cluster, "gpu-2", CONFIG, "one")
    answer = examined(cluster)
    assert [(one.finding, one.severity) for one in answer.findings] == [("GPS030", "error"), ("GPS030", "warning")]
    first = answer.findings[0]
    assert first.subject == f"ConfigMap {STACK}/{CONFIGS}, key one"
    assert (
        first.evidence[0]
        == "sharing.mps.resources[0].replicas: the device plugin refuses this: must be at least 2, not 1"
    )
    assert str(first.remedy).endswith(f": kubectl -n {STACK} edit configmap {CONFIGS}")
    newest = {"name": "nvidia-device-plugin-ctr", "image": "k8s-device-plugin:v0.99.0"}
    program(cluster, PLUGIN)["containers"] = [newest]
    unread, newer = examined(cluster).findings
    assert unread.cause.startswith("the device plugin refuses its configuration")
    assert (newer.finding, newer.severity) == ("GPS030", "warning")
    assert newer.cause.startswith("by the rules of v0.20, the device plugin refuses its configuration")
    assert "v0.20 refuses this, and v0.99.0 is not known to this program: must be at least 2" in newer.evidence[0]


def test_part_of_configuration_without_effect(cluster: FakeCluster) -> None:
    configure(cluster, beside=json.dumps({"version": "v1", "timeSlicing": {"resources": []}}))
    finding = only(cluster)
    assert (finding.finding, finding.severity) == ("GPS031", "warning")


def test_configurations_in_binary_data_are_unknown(cluster: FakeCluster) -> None:
    """The plugin reads them, so that nothing is said about their names and their texts."""
    config_map = cluster.objects[kinds.CONFIG_MAP.path(STACK, CONFIGS)]
    config_map["binaryData"] = {"mps-4": "dmVyc2lvbjogdjE="}
    del config_map["data"]
    answer = examined(cluster)
    assert answer.findings == ()
    unknown = {what for what, why in answer.unchecked if why == "the ConfigMap of the device plugin cannot be read"}
    assert unknown == {
        "configurations of the device plugin",
        "names of configurations",
        "configurations that nothing reads",
        "allocatable replicas",
        "labels against configurations",
    }


def test_label_that_names_no_configuration(cluster: FakeCluster) -> None:
    label(cluster, "gpu-2", CONFIG, "a100-mps")
    finding = only(cluster)
    assert (finding.finding, finding.severity, finding.subject) == ("config-label-unknown", "error", "gpu-2")
    assert finding.evidence[0] == f"ConfigMap {STACK}/{CONFIGS} has: mps-4"


def test_default_that_names_no_configuration(cluster: FakeCluster) -> None:
    manager = program(cluster, PLUGIN)["initContainers"][0]  # type: ignore[index]
    manager["env"][1]["value"] = "mps-10"
    answer = examined(cluster)
    assert [one.finding for one in answer.findings] == ["GPS033"]
    for name in ("gpu-1", "gpu-2"):
        label(cluster, name, CONFIG, "mps-4")
    assert found(cluster) == []


def test_config_map_that_does_not_exist(cluster: FakeCluster) -> None:
    remove(cluster, kinds.CONFIG_MAP, CONFIGS, STACK)
    answer = examined(cluster)
    assert [one.finding for one in answer.findings] == ["GPS033"]
    assert f"the ConfigMap {STACK}/{CONFIGS} of its configurations does not exist" in answer.findings[0].cause


def test_plugin_without_configuration_shares_nothing(cluster: FakeCluster) -> None:
    """The static manifest of the plugin, without discovery and daemon."""
    cluster = FakeCluster()
    bare = {"spec": {"containers": [{"name": "nvidia-device-plugin-ctr", "image": IMAGE}]}}
    status = {"desiredNumberScheduled": 1, "numberReady": 1}
    manifest = {"metadata": {"name": "p", "namespace": "kube-system"}, "spec": {"template": bare}, "status": status}
    put(cluster, kinds.DAEMON_SET, manifest)
    amounts = {"nvidia.com/gpu": "2"}
    put(cluster, kinds.NODE, {"metadata": {"name": "n"}, "status": {"capacity": amounts, "allocatable": amounts}})
    assert found(cluster) == ["webhook-not-installed"]


def test_programs_are_known_by_image_and_command(cluster: FakeCluster) -> None:
    for name, command in (
        (PLUGIN, "nvidia-device-plugin"),
        (DAEMON, "mps-control-daemon"),
        (DISCOVERY, "gpu-feature-discovery"),
    ):
        program(cluster, name)["containers"] = [{"name": "main", "image": IMAGE, "command": [command]}]
    assert found(cluster) == []


def test_configurations_that_no_node_uses(cluster: FakeCluster) -> None:
    configure(cluster, other="version: v1")
    for name in ("gpu-1", "gpu-2"):
        label(cluster, name, CONFIG, None)
    manager = cluster.objects[kinds.DAEMON_SET.path(STACK, PLUGIN)]["spec"]["template"]["spec"]["initContainers"][0]
    manager["env"] = [{"name": "DEFAULT_CONFIG", "value": ""}, {"name": "FALLBACK_STRATEGIES", "value": "empty"}]
    finding = next(one for one in examined(cluster).findings if one.finding == "config-unused")
    assert (finding.severity, finding.subject) == ("warning", f"{STACK}/{PLUGIN}")
    assert f"kubectl label node gpu-1 {CONFIG}=" in str(finding.remedy)
