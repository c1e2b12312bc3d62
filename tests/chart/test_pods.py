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
from webhook.settings.configuration import ServerSettings

pytestmark = pytest.mark.slow


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


def test_recreate_strategy_has_no_rolling_update() -> None:
    strategy = only("Deployment", {"updateStrategy": {"type": "Recreate"}})["spec"]["strategy"]
    assert strategy == {"type": "Recreate"}


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


DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ({"registry": "r.example.com:5000"}, "r.example.com:5000/gpushare-webhook/gpushare-webhook:{version}"),
        ({"registry": "r.example.com", "repository": "a/b", "tag": "v1"}, "r.example.com/a/b:v1"),
        ({"registry": "", "repository": "a", "tag": "v1", "digest": DIGEST}, f"a:v1@{DIGEST}"),
    ],
)
def test_image_reference(image: dict[str, str], name: str) -> None:
    from webhook import __version__

    assert container({"image": image})["image"] == name.format(version=__version__)
    (test,) = of_kind("Pod", {"image": image})
    assert test["spec"]["containers"][0]["image"] == name.format(version=__version__)


@pytest.mark.parametrize(("kubernetes", "there"), [("1.32.9", False), ("1.33.0", True)])
def test_user_namespaces_depend_on_kubernetes_version(kubernetes: str, there: bool) -> None:
    assert ("hostUsers" in pod_spec("everything", kubernetes=kubernetes)) is there
    assert "hostUsers" not in pod_spec("default", kubernetes=kubernetes)


def test_probe_can_be_of_another_kind() -> None:
    asked = {"exec": {"command": ["true"]}}
    probe = container({"livenessProbe": {"httpGet": None} | asked})["livenessProbe"]
    assert {"exec": probe["exec"]} == asked
    assert "httpGet" not in probe


@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_health_and_metrics_are_not_exposed(kind: str) -> None:
    values = {"service": {"type": kind, "port": 8080}}
    (https,) = service(values)["spec"]["ports"]
    assert (service(values)["spec"]["type"], https["port"], https["targetPort"]) == (kind, 8080, "https")
    metrics = service(values, "-metrics")["spec"]
    assert (metrics["type"], [port["targetPort"] for port in metrics["ports"]]) == ("ClusterIP", ["health"])


LIMITED = {"enabled": True, "webhookFrom": [{"ipBlock": {"cidr": "10.0.0.0/16"}}]}


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
    values = {"tls": {"mode": "cert-manager"}, "networkPolicy": LIMITED, "config": {"facts": facts}}
    server, _ = only("NetworkPolicy", values)["spec"]["egress"]
    assert [port["port"] for port in server["ports"]] == [443, 6443]


def test_network_policy_without_metrics_peers_opens_review_port_alone() -> None:
    policy = only("NetworkPolicy", {"networkPolicy": LIMITED})["spec"]
    assert policy["ingress"] == [{"from": LIMITED["webhookFrom"], "ports": [{"port": "https", "protocol": "TCP"}]}]
    server, _ = policy["egress"]
    assert server == {"ports": [{"port": port, "protocol": "TCP"} for port in (443, 6443)]}


@pytest.mark.parametrize("mode", MODES)
def test_network_policy_never_opens_port_to_every_source(mode: str) -> None:
    """A rule without peers admits every source (k8s.io/api, networking/v1, NetworkPolicyIngressRule)."""
    rules = [rule for policy in of_kind("NetworkPolicy", mode) for rule in policy["spec"]["ingress"]]
    assert [rule for rule in rules if not rule.get("from")] == []


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "monitoring"])
def test_rendered_files_contain_no_template_action(mode: str) -> None:
    """Prometheus and Grafana use the same braces."""
    assert "{{" not in rendered(mode)
