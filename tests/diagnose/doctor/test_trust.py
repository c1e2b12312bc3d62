"""What tenants write changes nothing that `doctor` says about nodes, and the stack of an administrator is believed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.cluster import FakeCluster
from tests.diagnose.both import put
from tests.diagnose.doctor.asked import examined, found, only
from tests.diagnose.doctor.healthy import (
    CONFIG,
    CONFIGS,
    DAEMON,
    IMAGE,
    OURS,
    PLUGIN,
    STACK,
    daemon_set,
    label,
    mps,
    node,
    pod,
    put_event,
    put_settings,
    remove,
    remove_daemon_set,
)
from webhook.cluster import objects as kinds
from webhook.diagnose.finding import Finding

TENANT = "aaa"
"""A namespace of a tenant, which comes before all others."""

WHOLE = {"nvidia.com/mps.capable": "false", "nvidia.com/gpu.sharing-strategy": "none"}
FOLDER = "/var/lib/kubelet/device-plugins"
CONTAINERS = {"plugin": "nvidia-device-plugin-ctr", "daemon": "mps-control-daemon-ctr"}


def config_map(cluster: FakeCluster, namespace: str, **texts: str) -> None:
    put(cluster, kinds.CONFIG_MAP, {"metadata": {"name": CONFIGS, "namespace": namespace}, "data": texts})


def run_stack(
    cluster: FakeCluster, namespace: str, *names: str, mounts: bool = True, created: str = "", **spec: Any
) -> None:
    """Run DaemonSets of the stack on `gpu-1`, as the chart of NVIDIA names them and their containers."""
    volumes = [{"name": "configs", "configMap": {"name": CONFIGS}}]
    volumes += [{"name": "device-plugin", "hostPath": {"path": FOLDER}}] if mounts else []
    for name in names:
        found = daemon_set(name, CONTAINERS[name.partition("-")[2] or name], 1, namespace, volumes=volumes, **spec)
        found["metadata"]["creationTimestamp"] = created
        put(cluster, kinds.DAEMON_SET, found)
        containers = [{"name": found["spec"]["template"]["spec"]["containers"][0]["name"], "image": IMAGE}]
        owner = ("DaemonSet", name)
        put(cluster, kinds.POD, pod(f"{name}-1", namespace, owner, containers=containers, volumes=volumes, **spec))


def move(cluster: FakeCluster, namespace: str, **labels: str) -> None:
    """Move the stack from its usual namespace to another, as `helm install --namespace` chooses it."""
    for kind in (kinds.DAEMON_SET, kinds.POD, kinds.CONFIG_MAP):
        for one in list(cluster.lists.get(kind.path(STACK), [])):
            remove(cluster, kind, one["metadata"]["name"], STACK)
            one["metadata"]["namespace"] = namespace
            if kind is kinds.POD:
                one["spec"]["volumes"] = [{"name": "device-plugin", "hostPath": {"path": FOLDER}}]
            put(cluster, kind, one)
    put(cluster, kinds.NAMESPACE, {"metadata": {"name": namespace, "labels": labels}})
    put_settings(cluster, "facts: {nodes: true}\n")


def unlike(cluster: FakeCluster, before: list[Finding]) -> list[Finding]:
    """The findings that are there now and were not before; all of those before are still there."""
    known, now = [one.as_data() for one in before], list(examined(cluster).findings)
    assert [data for one in now if (data := one.as_data()) in known] == known
    return [one for one in now if one.as_data() not in known]


def assert_of_tenants(findings: list[Finding]) -> None:
    """The findings are bounded warnings, say where they come from, and advise no change of nodes."""
    assert len(findings) <= 20
    for one in findings:
        assert (one.severity, one.is_of_tenants, one.as_data()["inTenantNamespace"]) == ("warning", True, True)
        assert "label node" not in str(one.remedy)
        assert "restart" not in str(one.remedy)


# DaemonSets of tenants.


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("mounts", [False, True])
def test_plugin_of_a_tenant_with_the_real_name_changes_nothing(cluster: FakeCluster, runs: bool, mounts: bool) -> None:
    label(cluster, "gpu-1", CONFIG, "mps-4")
    config_map(cluster, TENANT, evil=mps(2), other=mps(4))
    run_stack(cluster, TENANT, PLUGIN, mounts=mounts)
    if not runs:
        remove(cluster, kinds.POD, f"{PLUGIN}-1", TENANT)
    *two, one = unlike(cluster, [])
    assert_of_tenants([*two, one])
    assert [(each.finding, each.subject) for each in two] == [("two-plugins", "gpu-1")] * (runs and mounts)
    assert (one.finding, one.subject) == ("stack-unconfirmed", f"{TENANT}/{PLUGIN}")
    assert one.evidence == (("GPU nodes on which it runs: gpu-1",) if runs else ())
    assert f"--device-plugin-daemonset {TENANT}/{PLUGIN}" in str(one.remedy)


def without_daemon(cluster: FakeCluster) -> list[Finding]:
    """The findings of the cluster without the MPS control daemon."""
    remove_daemon_set(cluster, DAEMON)
    before = list(examined(cluster).findings)
    assert [(one.finding, one.severity) for one in before] == [("daemon-missing", "error")]
    return before


@pytest.mark.parametrize("names", [("mps-daemon",), ("mps-daemon", PLUGIN)])
@pytest.mark.parametrize("spec", [{}, {"priorityClassName": "system-node-critical"}])
def test_daemon_of_a_tenant_hides_no_missing_daemon(
    cluster: FakeCluster, names: tuple[str, ...], spec: dict[str, Any]
) -> None:
    before = without_daemon(cluster)
    run_stack(cluster, TENANT, *names, **spec)
    assert_of_tenants(unlike(cluster, before))


def test_plugin_of_a_tenant_hides_no_missing_plugin() -> None:
    cluster = FakeCluster()
    put(cluster, kinds.NODE, node("gpu-1", 0, labels=WHOLE))
    before = ["plugin-missing", "webhook-not-installed"]
    assert found(cluster) == before
    config_map(cluster, TENANT, one=mps(4))
    run_stack(cluster, TENANT, PLUGIN, mounts=False)
    assert found(cluster) == [*before, "stack-unconfirmed"]


def test_plugin_of_a_tenant_hides_no_taint_and_needs_no_runtime_class(cluster: FakeCluster) -> None:
    put(cluster, kinds.NODE, node("gpu-3", taints=({"key": "team", "effect": "NoSchedule"},)))
    before = list(examined(cluster).findings)
    assert {one.finding for one in before} == {"taint-not-tolerated"}
    tolerations = [{"operator": "Exists"}]
    run_stack(cluster, TENANT, PLUGIN, "mps-daemon", runtimeClassName="evil", tolerations=tolerations)
    added = unlike(cluster, before)
    assert {one.finding for one in added} == {"two-plugins", "stack-unconfirmed"}
    assert_of_tenants(added)


def test_many_daemon_sets_of_tenants_are_counted(cluster: FakeCluster) -> None:
    before = without_daemon(cluster)
    for number in range(1000):
        put(cluster, kinds.DAEMON_SET, daemon_set(f"d-{number}", CONTAINERS["daemon"], 1, f"{TENANT}-{number % 50}"))
    assert_of_tenants(unlike(cluster, before))
    answer = examined(cluster)
    assert answer.as_data()["further"] == [{"finding": "stack-unconfirmed", "count": 980}]
    assert "980 more: stack-unconfirmed" in list(answer.lines(80))


def test_namespace_of_a_forged_plugin_is_not_exempt(cluster: FakeCluster) -> None:
    put(cluster, kinds.NAMESPACE, {"metadata": {"name": TENANT, "labels": {"gpushare-webhook/ignore": "true"}}})
    containers = [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]
    put(cluster, kinds.POD, pod("main", TENANT, containers=containers))
    assert found(cluster) == ["selector-skips"]
    put(cluster, kinds.DAEMON_SET, daemon_set("mine", CONTAINERS["daemon"], 0, TENANT))
    assert found(cluster) == ["selector-skips", "stack-unconfirmed"]


def test_command_never_holds_the_name_of_an_owner(cluster: FakeCluster) -> None:
    """The API server accepts any text as the name of an owner."""
    containers = [{"name": CONTAINERS["plugin"], "image": IMAGE}]
    put(cluster, kinds.POD, pod("p", TENANT, ("DaemonSet", "x; id #"), containers=containers))
    assert "id" not in str(only(cluster).remedy).replace("did", "").split()
    assert "--device-plugin-daemonset" not in str(only(cluster).remedy)


# Events of tenants.


def waiting(cluster: FakeCluster, namespace: str, name: str, on: str = "gpu-1") -> None:
    """A pod that is bound to a node and does not start."""
    put(cluster, kinds.POD, pod(name, namespace, on=on, runtimeClassName="nvidia"))["status"] = {"phase": "Pending"}


def no_handler(name: str) -> str:
    return f'failed to get sandbox runtime: no runtime for "{name}" is configured'


def test_many_events_are_one_warning_about_the_node_of_the_pod(cluster: FakeCluster) -> None:
    waiting(cluster, TENANT, "p")
    for number in range(1000):
        handler = f"h{number}" if number else "nvidia"
        put_event(cluster, "FailedCreatePodSandBox", no_handler(handler), "p", namespace=TENANT)
    (one,) = unlike(cluster, [])
    assert_of_tenants([one])
    assert (one.finding, one.subject) == ("runtime-handler-missing", "gpu-1")


def test_events_of_a_tenant_displace_none_of_others(cluster: FakeCluster) -> None:
    for number in range(1000):
        put_event(cluster, "FailedCreatePodSandBox", no_handler(f"h{number}"), f"p-{number}", namespace=TENANT)
    waiting(cluster, STACK, "validator")
    put_event(cluster, "FailedCreatePodSandBox", no_handler("nvidia"), "validator", namespace=STACK)
    one = only(cluster)
    assert (one.finding, one.severity, one.is_of_tenants) == ("runtime-handler-missing", "error", False)
    assert "nvidia-ctk runtime configure" in str(one.remedy)


def test_event_of_a_tenant_joins_no_finding_of_others(cluster: FakeCluster) -> None:
    for namespace, on in ((STACK, "gpu-1"), (TENANT, "gpu-2")):
        waiting(cluster, namespace, "p", on)
        put_event(cluster, "FailedCreatePodSandBox", no_handler("nvidia"), "p", namespace=namespace)
    first, second = examined(cluster).findings
    assert (first.subject, first.is_of_tenants) == ("gpu-1", False)
    assert (second.subject, second.is_of_tenants) == ("gpu-2", True)


def test_events_about_classes_are_bounded_and_create_none(cluster: FakeCluster) -> None:
    for number in range(1000):
        message = f'pods "x" is forbidden: pod rejected: RuntimeClass "c{number}" not found'
        put_event(cluster, "FailedCreate", message, "web", namespace=f"{TENANT}-{number % 50}")
    added = unlike(cluster, [])
    assert_of_tenants(added)
    assert {one.finding for one in added} == {"runtime-class-missing"}
    assert not any("kubectl create" in str(one.remedy) for one in added)
    assert examined(cluster).further == (("runtime-class-missing", 980),)


def test_finding_of_an_administrator_is_shown_before_those_of_tenants(cluster: FakeCluster) -> None:
    spec = {"hard": {"limits.nvidia.com/gpu": "2"}}
    for number in range(30):
        put(cluster, kinds.QUOTA, {"metadata": {"name": f"q-{number}", "namespace": TENANT}, "spec": spec})
    put(cluster, kinds.QUOTA, {"metadata": {"name": "gpus", "namespace": STACK}, "spec": spec})
    answer = examined(cluster)
    assert answer.findings[0].subject == f"ResourceQuota {STACK}/gpus"
    assert (len(answer.findings), answer.further) == (20, (("quota-counts-nothing", 11),))


# Installations of tenants.


def test_deployment_of_a_tenant_is_no_installation(cluster: FakeCluster) -> None:
    """Its settings would exempt the namespace, and name other resources."""
    for kind in (kinds.MUTATING, kinds.VALIDATING):
        remove(cluster, kind, OURS)
    remove(cluster, kinds.DEPLOYMENT, OURS, OURS)
    remove(cluster, kinds.DAEMON_SET, DAEMON, STACK)
    before = found(cluster)
    assert before == ["daemon-missing", "webhook-not-installed"]
    metadata = {"name": "w", "namespace": TENANT, "labels": {"app.kubernetes.io/name": "gpushare-webhook"}}
    put(cluster, kinds.DEPLOYMENT, {"metadata": metadata, "spec": {"replicas": 1}, "status": {}})
    data = {"settings.yaml": f"exempt: {{namespaces: [{TENANT}]}}\n"}
    put(cluster, kinds.CONFIG_MAP, {"metadata": {"name": "w", "namespace": TENANT}, "data": data})
    run_stack(cluster, TENANT, "mps-daemon")
    answer = examined(cluster)
    assert [one.finding for one in answer.findings] == [*before, "stack-unconfirmed"]
    missing = next(one for one in answer.findings if one.finding == "webhook-not-installed")
    assert missing.evidence == (f"Deployments that have its label, and that nothing calls: {TENANT}/w",)


# The stack of an administrator.


@pytest.mark.parametrize(
    ("namespace", "settings", "labels", "plugin"),
    [
        ("kube-system", "", {}, None),
        ("gpu-operator", "", {}, None),
        ("nvidia-gpu-operator", "", {}, None),
        ("gpu", "exempt: {namespaces: [gpu]}", {}, None),
        ("gpu", "facts: {devicePlugin: gpu/plugin-configs}", {}, None),
        ("gpu", "facts: {devicePlugin: {daemonSet: gpu/plugin}}", {}, None),
        ("gpu", "", {"pod-security.kubernetes.io/enforce": "privileged"}, None),
        ("gpu", "", {}, "gpu/plugin"),
    ],
)
def test_stack_of_an_administrator_is_believed(
    cluster: FakeCluster, namespace: str, settings: str, labels: dict[str, str], plugin: str | None
) -> None:
    move(cluster, namespace, **labels)
    put_settings(cluster, settings)
    answer = examined(cluster, plugin)
    assert (answer.findings, answer.assumed) == ((), "")
    label(cluster, "gpu-2", CONFIG, "a100-mps")
    config_map(cluster, TENANT, evil=mps(2))
    run_stack(cluster, TENANT, PLUGIN, "mps-daemon")
    first, *others = examined(cluster, plugin).findings
    assert (first.finding, first.severity, first.is_of_tenants) == ("config-label-unknown", "error", False)
    assert str(first.remedy).startswith(f"kubectl label node gpu-2 {CONFIG}=mps-4")
    assert [one.finding for one in others] == ["two-plugins", "stack-unconfirmed", "stack-unconfirmed"]
    assert_of_tenants(others)


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_level_below_privileged_is_no_administrator(cluster: FakeCluster, level: str) -> None:
    move(cluster, "gpu", **{"pod-security.kubernetes.io/enforce": level})
    assert examined(cluster).assumed.startswith("DaemonSet gpu/plugin is the device plugin")


def test_only_stack_in_any_namespace_is_presumed(cluster: FakeCluster) -> None:
    move(cluster, "gpu")
    answer = examined(cluster)
    assert answer.findings == ()
    assert answer.as_data()["assumed"] == answer.assumed
    assert "--device-plugin-daemonset gpu/plugin" in "\n".join(answer.lines(None))
    cluster.objects[kinds.CONFIG_MAP.path("gpu", CONFIGS)]["data"]["mps-4"] = mps(8)
    label(cluster, "gpu-2", CONFIG, "a100-mps")
    findings = list(examined(cluster).findings)
    assert [one.finding for one in findings] == ["config-label-unknown", "allocatable-differs"]
    assert all(one.is_of_tenants and one.severity == "warning" for one in findings)
    assert str(findings[0].remedy).endswith("kubectl gpushare doctor --device-plugin-daemonset gpu/plugin")


@pytest.mark.parametrize(("tenant", "mounts"), [("2026-02-02T00:00:00Z", True), ("2024-02-02T00:00:00Z", False)])
def test_later_plugin_or_without_the_mount_displaces_no_presumed_one(
    cluster: FakeCluster, tenant: str, mounts: bool
) -> None:
    move(cluster, "gpu")
    for one in cluster.lists[kinds.DAEMON_SET.path("gpu")]:
        one["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    config_map(cluster, TENANT, evil=mps(2))
    run_stack(cluster, TENANT, PLUGIN, "mps-daemon", mounts=mounts, created=tenant)
    answer = examined(cluster)
    assert answer.assumed.startswith("DaemonSet gpu/plugin ")
    assert [one.finding for one in answer.findings] == ["two-plugins"] * mounts + ["stack-unconfirmed"] * 2


def test_presumed_plugin_says_nothing_about_what_labels_show(cluster: FakeCluster) -> None:
    """A forged configuration shares by MPS, where the labels of the node show whole cards."""
    cluster = FakeCluster()
    put(cluster, kinds.NODE, node("gpu-1", 1, labels=WHOLE))
    config_map(cluster, TENANT, **{"mps-4": mps(4)})
    run_stack(cluster, TENANT, PLUGIN, mounts=False)
    added = [one for one in examined(cluster).findings if one.finding != "webhook-not-installed"]
    assert_of_tenants([one for one in added if one.finding != "allocatable-differs"])
    assert "daemon-missing" not in {one.finding for one in added}
