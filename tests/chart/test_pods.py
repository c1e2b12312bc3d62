"""The webhook's pods: available, restricted, and configured by the values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chart.render import (
    MODES,
    NAMESPACE,
    WEBHOOK_MODES,
    Values,
    container,
    of_kind,
    only,
    pod_spec,
    rendered,
    service,
)
from webhook.server.limits import Bounds, fitting
from webhook.settings.process import ServerSettings

pytestmark = pytest.mark.slow

SIDE_BY_SIDE = {"maxUnavailable": 0, "maxSurge": 1}


@pytest.mark.parametrize("mode", [mode for mode in WEBHOOK_MODES if mode not in ("everything", "host-network")])
def test_pods_meet_restricted_pod_security(mode: str) -> None:
    """The Pod Security level `restricted` and a read-only root file system; for the test's pod too."""
    specs = [pod_spec(mode), *(pod["spec"] for pod in of_kind("Pod", mode))]
    for spec in specs:
        assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        assert not [volume for volume in spec.get("volumes", []) if "hostPath" in volume]
        for one in spec["containers"]:
            assert one["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert one["resources"]["limits"]["memory"]
            assert "cpu" not in one["resources"]["limits"]


def test_two_replicas_survive_rollout_and_eviction() -> None:
    deployment = only("Deployment", "default")["spec"]
    assert deployment["replicas"] == 2
    assert deployment["strategy"] == {"type": "RollingUpdate", "rollingUpdate": SIDE_BY_SIDE}
    budget = only("PodDisruptionBudget", "default")["spec"]
    assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")
    assert pod_spec("default")["priorityClassName"] == "system-cluster-critical"


def test_recreate_strategy_has_no_rolling_update() -> None:
    strategy = only("Deployment", {"updateStrategy": {"type": "Recreate"}})["spec"]["strategy"]
    assert strategy == {"type": "Recreate"}


def test_replicas_spread_over_zones_and_hosts() -> None:
    constraints = pod_spec("default")["topologySpreadConstraints"]
    assert {one["topologyKey"]: one["whenUnsatisfiable"] for one in constraints} == {
        "topology.kubernetes.io/zone": "ScheduleAnyway",
        "kubernetes.io/hostname": "ScheduleAnyway",
    }
    (preferred,) = pod_spec("default")["affinity"]["podAntiAffinity"].values()
    assert preferred[0]["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    assert list(pod_spec("small")["affinity"]) == ["nodeAffinity"]
    assert "topologySpreadConstraints" not in pod_spec("small")


@pytest.mark.parametrize(
    ("values", "there"),
    [
        ({"replicas": 1}, False),
        ({"replicas": 1, "autoscaling": {"enabled": True}}, True),
        ({"autoscaling": {"enabled": True, "minReplicas": 1}}, True),
        ({"autoscaling": {"enabled": True, "minReplicas": 1, "maxReplicas": 1}}, False),
        ({"podDisruptionBudget": {"enabled": False}}, False),
    ],
)
def test_disruption_budget_exists_where_two_replicas_may_run(values: dict[str, Any], there: bool) -> None:
    assert bool(of_kind("PodDisruptionBudget", values)) is there


def test_disruption_budget_accepts_min_available() -> None:
    budget = only("PodDisruptionBudget", "everything")["spec"]
    assert (budget["minAvailable"], budget["unhealthyPodEvictionPolicy"]) == ("50%", "IfHealthyBudget")
    assert "maxUnavailable" not in budget
    nothing = only("PodDisruptionBudget", {"podDisruptionBudget": {"minAvailable": 0}})["spec"]
    assert nothing["minAvailable"] == 0


QUOTAS: list[tuple[dict[str, Any], str, int | None]] = [
    ({}, NAMESPACE, 100),
    ({"priorityClassName": "system-node-critical"}, NAMESPACE, 100),
    ({"replicas": 40}, NAMESPACE, 120),
    ({"autoscaling": {"enabled": True, "maxReplicas": 50}}, NAMESPACE, 150),
    ({"resourceQuota": {"pods": 3}}, NAMESPACE, 3),
    ({"resourceQuota": {"enabled": False}}, NAMESPACE, None),
    ({"priorityClassName": ""}, NAMESPACE, None),
    ({"priorityClassName": "gpu-admission"}, NAMESPACE, None),
    ({}, "kube-system", None),
    ({"namespaceOverride": "kube-system"}, NAMESPACE, None),
]


@pytest.mark.parametrize(("values", "space", "pods"), QUOTAS, ids=str)
def test_quota_admits_critical_priority_class(values: dict[str, Any], space: str, pods: int | None) -> None:
    quotas = of_kind("ResourceQuota", values, namespace=space)
    assert [one["spec"]["hard"] for one in quotas] == ([] if pods is None else [{"pods": str(pods)}])
    for quota in quotas:
        name = pod_spec(values)["priorityClassName"]
        scope = {"scopeName": "PriorityClass", "operator": "In", "values": [name]}
        assert quota["spec"]["scopeSelector"] == {"matchExpressions": [scope]}
        assert [one["kind"] for one in of_kind("Pod", values) if "priorityClassName" in one["spec"]] == []


MIB = 2**20
RESIDENT = {False: 110 * MIB, True: 200 * MIB}
"""What the process holds with self-managed certificates, without and with the facts about 5,000 nodes."""


@pytest.mark.parametrize("nodes", RESIDENT)
def test_memory_limit_covers_the_default_bounds(nodes: bool) -> None:
    values = {"config": {"facts": {"nodes": nodes}}}
    limit = int(container(values)["resources"]["limits"]["memory"].removesuffix("Mi")) * MIB
    usual = ServerSettings()
    bounds = Bounds(usual.body_limit, usual.max_connections)
    left = limit - RESIDENT[nodes]
    assert fitting(bounds, left) == bounds
    assert left - bounds.bytes < 64 * MIB, "the limit is larger than the arithmetic needs"


def test_memory_limit_of_values_overrides_that_of_the_chart() -> None:
    for memory, expected in (("", "896Mi"), ("512Mi", "512Mi"), (None, None)):
        values = {"mixedCluster": True, "resources": {"limits": {"memory": memory}}}
        assert container(values)["resources"].get("limits", {}).get("memory") == expected
    assert "resources" not in container({"resources": None})


def test_revision_history_limit() -> None:
    assert only("Deployment", "everything")["spec"]["revisionHistoryLimit"] == 3
    assert only("Deployment", {"revisionHistoryLimit": 0})["spec"]["revisionHistoryLimit"] == 0


def test_autoscaler_replaces_replicas() -> None:
    assert "replicas" not in only("Deployment", "everything")["spec"]
    scaler = only("HorizontalPodAutoscaler", "everything")["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (3, 9)
    assert scaler["scaleTargetRef"]["name"] == only("Deployment", "everything")["metadata"]["name"]
    assert scaler["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 60}
    assert of_kind("HorizontalPodAutoscaler", "default") == []


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ({}, "gpushare-webhook/gpushare-webhook:{version}"),
        ({"registry": "r.example.com:5000"}, "r.example.com:5000/gpushare-webhook/gpushare-webhook:{version}"),
        ({"repository": "a/b", "tag": "v1"}, "a/b:v1"),
        ({"repository": "a", "tag": "v1", "digest": "sha256:" + "0" * 64}, "a:v1@sha256:" + "0" * 64),
    ],
)
def test_image_reference(image: dict[str, str], name: str) -> None:
    from webhook import __version__

    assert container({"image": image})["image"] == name.format(version=__version__)
    (test,) = of_kind("Pod", {"image": image})
    assert test["spec"]["containers"][0]["image"] == name.format(version=__version__)


def test_host_network() -> None:
    spec = pod_spec("host-network")
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert not {"hostNetwork", "dnsPolicy"} & pod_spec("default").keys()
    assert pod_spec("everything")["dnsPolicy"] == "None"


@pytest.mark.parametrize(("kubernetes", "there"), [("1.32.9", False), ("1.33.0", True)])
def test_user_namespaces_depend_on_kubernetes_version(kubernetes: str, there: bool) -> None:
    assert ("hostUsers" in pod_spec("everything", kubernetes=kubernetes)) is there
    assert "hostUsers" not in pod_spec("default", kubernetes=kubernetes)


def test_probes_can_be_changed_and_disabled() -> None:
    liveness = container("everything")["livenessProbe"]
    assert (liveness["failureThreshold"], liveness["httpGet"]["path"]) == (10, "/livez")
    assert "startupProbe" not in container("small")
    asked = {"exec": {"command": ["true"]}}
    probe = container({"livenessProbe": {"httpGet": None} | asked})["livenessProbe"]
    assert {"exec": probe["exec"]} == asked
    assert "httpGet" not in probe
    assert {container("default")[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe")} == {"/livez"}
    assert container("default")["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_service_supports_dual_stack() -> None:
    for part in ("", "-metrics"):
        spec = service("host-network", part)["spec"]
        assert (spec["ipFamilyPolicy"], spec["ipFamilies"]) == ("PreferDualStack", ["IPv6", "IPv4"])
        assert not {"ipFamilyPolicy", "ipFamilies"} & service("default", part)["spec"].keys()


def test_service_node_port() -> None:
    (https,) = service("everything")["spec"]["ports"]
    assert (https["port"], https["nodePort"], https["targetPort"]) == (8443, 30443, "https")


@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_health_and_metrics_are_not_exposed(kind: str) -> None:
    values = {"service": {"type": kind, "port": 8080}}
    (https,) = service(values)["spec"]["ports"]
    assert (service(values)["spec"]["type"], https["port"], https["targetPort"]) == (kind, 8080, "https")
    metrics = service(values, "-metrics")["spec"]
    assert (metrics["type"], [port["targetPort"] for port in metrics["ports"]]) == ("ClusterIP", ["health"])


def test_network_policy_allows_only_needed_traffic() -> None:
    policy = only("NetworkPolicy", "monitoring")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    reviews, metrics = policy["ingress"]
    assert reviews == {
        "from": [{"ipBlock": {"cidr": "10.0.0.0/16"}}],
        "ports": [{"port": "https", "protocol": "TCP"}],
    }
    assert metrics["ports"] == [{"port": "health", "protocol": "TCP"}]
    server, names = policy["egress"]
    assert server["to"] == [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    assert [port["port"] for port in server["ports"]] == [6443]
    assert {port["port"] for port in names["ports"]} == {53}
    assert only("NetworkPolicy", "small")["spec"]["egress"] == []
    assert of_kind("NetworkPolicy", "default") == []


@pytest.mark.parametrize(
    "source",
    [
        *({source: True} for source in ("nodes", "namespaces", "runtimeClasses", "deviceClasses")),
        {"devicePlugin": "a/b"},
        {"devicePlugin": {"daemonSet": "a/b"}},
    ],
    ids=str,
)
def test_network_policy_allows_calls_for_each_source_of_facts(source: Values) -> None:
    facts = {"runtimeClasses": False, **source}
    values = {"tls": {"mode": "cert-manager"}, "networkPolicy": {"enabled": True}, "config": {"facts": facts}}
    server, _ = only("NetworkPolicy", values)["spec"]["egress"]
    assert [port["port"] for port in server["ports"]] == [443, 6443]


def test_network_policy_allows_writing_events() -> None:
    config = {"facts": {"runtimeClasses": False}, "events": {"enabled": True}}
    values = {"tls": {"mode": "cert-manager"}, "networkPolicy": {"enabled": True}, "config": config}
    server, _ = only("NetworkPolicy", values)["spec"]["egress"]
    assert [port["port"] for port in server["ports"]] == [443, 6443]


def test_network_policy_without_networks_names_no_peer() -> None:
    """Cilium's CIDR rules match neither nodes nor pods, however wide they are."""
    policy = only("NetworkPolicy", {"networkPolicy": {"enabled": True}})["spec"]
    assert policy["ingress"] == [{"ports": [{"port": "https", "protocol": "TCP"}]}]
    server, _ = policy["egress"]
    assert server == {"ports": [{"port": port, "protocol": "TCP"} for port in (443, 6443)]}


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "monitoring"])
def test_rendered_files_contain_no_template_action(mode: str) -> None:
    """Prometheus and Grafana use the same braces."""
    assert "{{" not in rendered(mode)
