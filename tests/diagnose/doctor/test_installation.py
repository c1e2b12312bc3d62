"""Findings about the installation of this webhook."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.cluster import FakeCluster
from tests.diagnose.both import put
from tests.diagnose.doctor.asked import examined, found, only
from tests.diagnose.doctor.healthy import (
    DAEMON,
    OURS,
    STACK,
    TEAM,
    asking,
    hook,
    pod,
    put_settings,
    remove,
    rendered,
    replica,
    report,
)
from webhook.cluster import objects as kinds


def entries(cluster: FakeCluster) -> list[dict[str, Any]]:
    """The webhooks of both configurations."""
    paths = [kind.path(None, OURS) for kind in (kinds.MUTATING, kinds.VALIDATING)]
    return [one for path in paths for one in cluster.objects[path]["webhooks"]]


def deployment(cluster: FakeCluster) -> dict[str, Any]:
    found: dict[str, Any] = cluster.objects[kinds.DEPLOYMENT.path(OURS, OURS)]
    return found


def waiting(reason: str) -> dict[str, Any]:
    """The status of a pod whose container does not start."""
    state = {"waiting": {"reason": reason, "message": "not found"}}
    return {"phase": "Pending", "containerStatuses": [{"name": "main", "state": state}]}


BOTH, INSTALLATION = [(kinds.MUTATING, OURS), (kinds.VALIDATING, OURS)], f"{OURS}/{OURS}"


@pytest.mark.parametrize(
    ("gone", "finding", "severity", "subject"),
    [
        ([*BOTH, (kinds.DEPLOYMENT, OURS)], "webhook-not-installed", "warning", "gpushare-webhook"),
        (BOTH[:1], "configuration-missing", "error", "MutatingWebhookConfiguration"),
        (BOTH[1:], "configuration-missing", "error", "ValidatingWebhookConfiguration"),
        ([(kinds.SERVICE_ACCOUNT, f"{OURS}-mode")], "mode-account-missing", "warning", INSTALLATION),
        ([(kinds.POLICY, f"{OURS}-guard")], "guard-missing", "warning", INSTALLATION),
        ([(kinds.POLICY_BINDING, f"{OURS}-guard")], "guard-missing", "warning", INSTALLATION),
    ],
)
def test_object_of_the_installation_is_missing(
    cluster: FakeCluster, gone: list[tuple[kinds.Kind, str]], finding: str, severity: str, subject: str
) -> None:
    for kind, name in gone:
        remove(cluster, kind, name, OURS if kind.is_namespaced else None)
    one = only(cluster)
    assert (one.finding, one.severity, one.subject) == (finding, severity, subject)
    if finding in ("guard-missing", "mode-account-missing"):
        assert [each.lower() for each in one.evidence] == [f"not found: {kind.name} {name}" for kind, name in gone]


def test_configurations_of_others_do_not_count(cluster: FakeCluster) -> None:
    other = {"name": "costs.example.com", "clientConfig": {"service": {"namespace": "a", "name": "b"}}}
    put(cluster, kinds.MUTATING, {"metadata": {"name": "costs"}, "webhooks": [other]})
    assert found(cluster) == []


def test_bundle_is_empty(cluster: FakeCluster) -> None:
    del entries(cluster)[0]["clientConfig"]["caBundle"]
    finding = only(cluster)
    assert (finding.finding, finding.severity) == ("ca-bundle-empty", "error")
    assert finding.evidence == ("entries: pods.gpushare-webhook.io",)


def test_webhook_at_an_address_needs_no_bundle(cluster: FakeCluster) -> None:
    for one in entries(cluster):
        one["clientConfig"] = {"url": "https://gpu.example.com/mutate"}
    assert found(cluster) == []


@pytest.mark.parametrize(("seconds", "severity"), [(-1, "error"), (3600, "warning")])
def test_end_of_the_certificate_that_a_replica_serves(cluster: FakeCluster, seconds: int, severity: str) -> None:
    report(cluster, "webhook-2", seconds)
    finding = only(cluster)
    assert (finding.finding, finding.severity) == ("certificate", severity)
    assert finding.subject == INSTALLATION


def test_replicas_run_different_settings(cluster: FakeCluster) -> None:
    report(cluster, "webhook-2", 10**6, "3.0")
    finding = only(cluster)
    assert (finding.finding, finding.severity) == ("version-skew", "warning")
    assert finding.evidence == ("1 x 000000000003", "1 x aaaaaaaaaaaa")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not metrics",
        'gpushare_webhook_certificate_expiry_seconds{kind="leaf"} 9e999',
        'gpushare_webhook_digest{of="settings"} 9e999',
        'gpushare_webhook_digest{of="settings"} ...',
    ],
)
def test_unknown_metrics_are_no_finding(cluster: FakeCluster, text: str) -> None:
    cluster.texts = dict.fromkeys(cluster.texts, text)
    assert found(cluster) == []


def test_certificate_that_cannot_be_read_is_not_found_well(cluster: FakeCluster) -> None:
    cluster.texts.clear()
    answer = examined(cluster)
    assert answer.findings == ()
    assert [what for what, _ in answer.unchecked] == ["certificates"]


@pytest.mark.parametrize("endpoints", [[], [{"conditions": {"ready": False}}], None])
def test_service_has_no_endpoints(cluster: FakeCluster, endpoints: Any) -> None:
    cluster.lists[kinds.ENDPOINT_SLICE.path(OURS)][0]["endpoints"] = endpoints
    deployment(cluster)["status"] = {}
    finding = only(cluster)
    assert (finding.finding, finding.severity) == ("no-endpoints", "error")
    assert finding.evidence[0] == "0 of 2 replicas are ready"


def test_service_selects_no_replica(cluster: FakeCluster) -> None:
    remove(cluster, kinds.ENDPOINT_SLICE, f"{OURS}-1", OURS)
    assert str(only(cluster).remedy).endswith(f"kubectl -n {OURS} describe service/{OURS}")


def test_configurations_outlive_the_deployment(cluster: FakeCluster) -> None:
    remove(cluster, kinds.DEPLOYMENT, OURS, OURS)
    remove(cluster, kinds.ENDPOINT_SLICE, f"{OURS}-1", OURS)
    finding = only(cluster)
    assert (finding.finding, finding.evidence[0]) == ("no-endpoints", "no Deployment")


def test_deployment_is_scaled_to_zero(cluster: FakeCluster) -> None:
    deployment(cluster)["spec"]["replicas"] = 0
    remove(cluster, kinds.ENDPOINT_SLICE, f"{OURS}-1", OURS)
    assert str(only(cluster).remedy) == f"kubectl -n {OURS} scale --replicas=2 deployment/{OURS}"


def test_replica_is_not_ready(cluster: FakeCluster) -> None:
    deployment(cluster)["status"]["readyReplicas"] = 1
    cluster.objects[kinds.POD.path(OURS, "webhook-2")]["status"] = waiting("CrashLoopBackOff")
    finding = only(cluster)
    assert (finding.finding, finding.severity) == ("replicas-not-ready", "warning")
    assert finding.evidence == ("pod webhook-2: container main: CrashLoopBackOff not found",)


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff"])
def test_image_cannot_be_pulled(cluster: FakeCluster, reason: str) -> None:
    for space, name in ((OURS, "webhook-2"), (STACK, f"{DAEMON}-gpu-1")):
        cluster.objects[kinds.POD.path(space, name)]["status"] = waiting(reason)
    deployment(cluster)["status"]["readyReplicas"] = 1
    cluster.objects[kinds.DAEMON_SET.path(STACK, DAEMON)]["status"]["numberReady"] = 1
    first, second = examined(cluster).findings
    assert (first.finding, first.severity, first.subject) == ("daemon-not-ready", "error", f"{STACK}/{DAEMON}")
    assert (second.finding, second.subject) == ("replicas-not-ready", INSTALLATION)
    assert second.cause == "1 of 2 replicas ready: the kubelet cannot pull an image"
    assert second.evidence == (f"pod webhook-2: container main: {reason} not found",)
    assert all("imagePullSecrets" in str(one.remedy) for one in (first, second))


@pytest.mark.parametrize("state", ["unreachable", "not-ready", "unschedulable"])
def test_replica_is_on_a_node_that_takes_no_pods(cluster: FakeCluster, state: str) -> None:
    taints = [{"key": f"node.kubernetes.io/{state}", "effect": "NoSchedule"}]
    put(cluster, kinds.NODE, {"metadata": {"name": "cpu-2"}, "spec": {"taints": taints}, "status": {}})
    cluster.objects[kinds.POD.path(OURS, "webhook-2")]["spec"]["nodeName"] = "cpu-2"
    finding = only(cluster)
    assert (finding.finding, finding.severity) == ("replicas-on-closed-nodes", "warning")
    assert finding.cause == "1 of 2 replicas on a node that takes no new pods"
    assert finding.evidence[0].startswith("pod webhook-2 on node cpu-2: it")
    assert str(finding.remedy).startswith(f"kubectl -n {OURS} rollout restart deployment/{OURS}")


def test_replicas_run_different_images(cluster: FakeCluster) -> None:
    put(cluster, kinds.POD, replica("webhook-3", "registry.test/gpushare-webhook:2"))
    finding = only(cluster)
    assert (finding.finding, len(finding.evidence)) == ("version-skew", 2)
    cluster.objects[kinds.POD.path(OURS, "webhook-3")]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert found(cluster) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("facts: {nodes: true}", "there is none, because facts.nodes is set"),
        ("mode: audit", "there is none, because mode is audit"),
        ("severities: {}", "there is none, because its settings have no guard.enabled"),
    ],
)
def test_why_there_is_no_guard(cluster: FakeCluster, text: str, why: str) -> None:
    put_settings(cluster, text)
    assert dict(examined(cluster).unchecked)["guard in the API server"] == why


@pytest.mark.parametrize(
    ("mode", "cause"),
    [("audit", "an annotation caps its mode to audit, whatever"), ("of", 'its mode to "of", which is no mode')],
)
def test_mode_is_capped(cluster: FakeCluster, mode: str, cause: str) -> None:
    annotations = cluster.objects[kinds.SERVICE_ACCOUNT.path(OURS, f"{OURS}-mode")]["metadata"]["annotations"]
    annotations["gpushare-webhook/mode"] = mode
    finding = only(cluster)
    assert finding.finding == "mode-capped"
    assert cause in finding.cause
    annotations["gpushare-webhook/mode"] = "enforce"
    assert found(cluster) == []


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [("skipped", {"gpushare-webhook/ignore": "true"}, ["selector-skips"]), ("seen", {}, []), ("gpu-operator", {}, [])],
)
def test_namespaces_that_the_webhook_skips(
    cluster: FakeCluster, name: str, labels: dict[str, str], expected: list[str]
) -> None:
    put(cluster, kinds.NAMESPACE, {"metadata": {"name": name, "labels": labels}})
    put(cluster, kinds.POD, pod("train", name, containers=asking()))
    assert found(cluster) == expected


def test_selector_by_labels(cluster: FakeCluster) -> None:
    for one in entries(cluster):
        one["namespaceSelector"] = {"matchLabels": {"gpu": "yes"}}
    finding = only(cluster)
    assert (finding.finding, finding.subject) == ("selector-skips", f"namespace {TEAM}")
    assert finding.evidence == (f"1 GPU pod such as {TEAM}/train",)
    cluster.objects[kinds.NAMESPACE.path(None, TEAM)]["metadata"]["labels"]["gpu"] = "yes"
    assert found(cluster) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("namespaces: [{names: [taem], mode: audit}]", "namespaces[0].names: there is no namespace taem"),
        ("namespaces: [{names: ['te*'], mode: audit}]", None),
        ("exempt: {namespaces: [kube-system, gone]}", "exempt.namespaces: there is no namespace gone"),
        ("mode: audit", None),
    ],
)
def test_settings_without_effect(cluster: FakeCluster, text: str, expected: str | None) -> None:
    put_settings(cluster, text)
    findings = [one for one in examined(cluster).findings if one.finding == "setting-without-effect"]
    assert [one.evidence for one in findings] == ([] if expected is None else [(expected,)])


def test_settings_that_are_refused(cluster: FakeCluster) -> None:
    """The cap works without them."""
    put_settings(cluster, "modes: audit")
    account = cluster.objects[kinds.SERVICE_ACCOUNT.path(OURS, f"{OURS}-mode")]
    account["metadata"]["annotations"]["gpushare-webhook/mode"] = "off"
    answer = examined(cluster)
    assert [(one.finding, one.severity) for one in answer.findings] == [
        ("settings-invalid", "error"),
        ("mode-capped", "warning"),
    ]
    assert "modes" in answer.findings[0].evidence[0]
    assert [what for what, _ in answer.unchecked] == [
        "guard in the API server",
        "settings of the webhook",
    ]


def second(cluster: FakeCluster) -> list[dict[str, Any]]:
    """Install a second release, and return the entries of its configuration."""
    found = hook(kinds.MUTATING)
    found["metadata"] = {"name": "second"}
    for one in found["webhooks"]:
        one["clientConfig"]["service"] = {"namespace": "two", "name": "second"}
    put(cluster, kinds.MUTATING, found)
    entries: list[dict[str, Any]] = found["webhooks"]
    return entries


EXAMINED = [("no-endpoints", "two/second"), ("mode-account-missing", "two/second")]


def test_second_installation_is_examined_too(cluster: FakeCluster) -> None:
    for one in second(cluster):
        one["namespaceSelector"] = {"matchLabels": {"release": "second"}}
    assert [(one.finding, one.subject) for one in examined(cluster).findings] == EXAMINED


def test_releases_that_see_the_same_pods(cluster: FakeCluster) -> None:
    second(cluster)
    (one,) = [one for one in examined(cluster).findings if one.finding == "releases-overlap"]
    assert (one.severity, one.subject) == ("warning", f"namespace {TEAM}")
    assert one.evidence == (f"1 GPU pod such as {TEAM}/train", f"releases: {INSTALLATION}, two/second")


ROLE = kinds.Kind("Role", "roles", "rbac.authorization.k8s.io")
ISSUER = kinds.Kind("Issuer", "issuers", "cert-manager.io")
FORMER, PLUGIN_ROLE = f"{OURS}/{OURS}@1", f"{OURS}-device-plugin"
BY_HAND = {"metadata": {"name": "mine", "labels": {"app.kubernetes.io/instance": OURS}}}


@pytest.mark.parametrize(
    ("kind", "made", "command"),
    [
        (kinds.MUTATING, rendered("former", render=FORMER), f"-n {OURS} delete mutatingwebhookconfiguration/former"),
        (ROLE, rendered("former", OURS, FORMER), f"-n {OURS} delete role/former"),
        (ISSUER, rendered("former", OURS, FORMER), f"-n {OURS} delete issuer/former"),
        (ROLE, rendered(PLUGIN_ROLE, STACK, FORMER), f"-n {STACK} delete role/{PLUGIN_ROLE}"),
        (ROLE, rendered(PLUGIN_ROLE, TEAM, FORMER), f"-n {TEAM} delete role/{PLUGIN_ROLE}"),
        (ROLE, rendered("forged", TEAM, FORMER), ""),
        (kinds.DEPLOYMENT, rendered("former", TEAM, FORMER), ""),
        (ROLE, rendered("present", OURS), ""),
        (kinds.POLICY, rendered("another", render="two/second@1"), ""),
        (kinds.POLICY, BY_HAND, ""),
    ],
)
def test_object_of_a_former_render(cluster: FakeCluster, kind: kinds.Kind, made: dict[str, Any], command: str) -> None:
    cluster.objects[ISSUER.root] = {"resources": [{"name": ISSUER.plural, "kind": ISSUER.kind}]}
    put(cluster, kind, made)
    findings = examined(cluster).findings
    assert [(one.finding, one.severity) for one in findings] == ([("left-over", "warning")] if command else [])
    for one in findings:
        assert one.evidence == (f"{kind.kind} {made['metadata']['name']}, created 2026-01-01T00:00:00Z",)
        assert one.is_of_tenants is (made["metadata"].get("namespace") == TEAM)
        assert str(one.remedy).endswith(f"or else: kubectl {command}")


def test_objects_of_a_former_render_are_deleted_in_order(cluster: FakeCluster) -> None:
    for kind in (kinds.POLICY, kinds.POLICY_BINDING):
        put(cluster, kind, rendered("former", render=FORMER))
    put(cluster, ROLE, rendered("former", OURS, FORMER))
    order = "validatingadmissionpolicybinding/former validatingadmissionpolicy/former role/former"
    assert str(only(cluster).remedy).endswith(f"kubectl -n {OURS} delete {order}")


def test_guard_of_former_chart_is_left_over_where_settings_have_none(cluster: FakeCluster) -> None:
    put_settings(cluster, "apiVersion: gpushare-webhook/v1\nkind: Settings\nguard: {enabled: false}\n")
    for kind in (kinds.POLICY, kinds.POLICY_BINDING):
        put(cluster, kind, {"metadata": {**BY_HAND["metadata"], "name": f"{OURS}-guard"}})
    one = only(cluster)
    assert one.finding == "left-over"
    guard = f"validatingadmissionpolicybinding/{OURS}-guard validatingadmissionpolicy/{OURS}-guard"
    assert str(one.remedy).endswith(f"kubectl -n {OURS} delete {guard}")


def test_former_renders_are_unknown_without_that_in_force(cluster: FakeCluster) -> None:
    del cluster.objects[kinds.CONFIG_MAP.path(OURS, OURS)]["metadata"]["annotations"]
    answer = examined(cluster)
    assert answer.findings == ()
    ((title, why),) = answer.unchecked
    assert title.startswith("objects of former renders")
    assert why.startswith(f"ConfigMap {INSTALLATION} cannot be read, or has no annotation")


@pytest.mark.parametrize(
    ("kind", "name", "unchecked"),
    [
        (kinds.SERVICE_ACCOUNT, "mode", {"cap on the mode"}),
        (kinds.POLICY, "guard", {"guard in the API server"}),
        (kinds.POLICY_BINDING, "guard", {"guard in the API server"}),
    ],
)
def test_object_that_cannot_be_read_is_not_found_well(
    cluster: FakeCluster, kind: kinds.Kind, name: str, unchecked: set[str]
) -> None:
    cluster.refused[kind.path(OURS if kind.is_namespaced else None, f"{OURS}-{name}")] = 403
    answer = examined(cluster)
    assert answer.findings == ()
    assert dict(answer.unchecked) == dict.fromkeys(unchecked, f"{kind.plural} cannot be read")
