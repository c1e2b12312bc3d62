"""The notes of an installation: how to verify it, how to stop it, and warnings about values."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from tests.chart.render import (
    FULLNAME,
    NAMESPACE,
    RELEASE,
    WEBHOOK_MODES,
    Values,
    is_test,
    objects,
    pod_spec,
    render,
)
from tests.project.repository import ROOT, blocks
from webhook.settings.profiles import PROFILES

pytestmark = pytest.mark.slow


def notes(values: str | Values, namespace: str = NAMESPACE) -> str:
    return render(values, namespace=namespace).notes


def warnings(values: str | Values, **options: str) -> list[str]:
    return re.findall(r"^WARNING: (.+)$", notes(values, **options), re.MULTILINE)


@pytest.mark.parametrize("mode", WEBHOOK_MODES)
def test_commands_name_the_release(mode: str) -> None:
    said = notes(mode)
    assert ("helm test " in said) is (mode not in ("small", "host-network"))  # no rights, and the mode audit
    has_guard = "There is no guard" not in said
    assert ("kubectl annotate " in said) is (pod_spec(mode)["automountServiceAccountToken"] or has_guard)
    assert f"kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration {FULLNAME}\n" in said + "\n"
    assert not re.search(r"[ \t]$|\n\n\n|<no value>", said, re.MULTILINE)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "enforce: it denies pods that cannot work, and it completes pods."),
        ({"mode": "warn"}, "warn: it denies nothing and warns, and it completes pods."),
        (
            {"mode": "audit"},
            "audit: it denies nothing and records findings, and it reports the edits that it would make.",
        ),
        (
            {"mode": "audit", "injections": {"mode": True}},
            "audit: it denies nothing and records findings, and it completes",
        ),
        ({"injections": {"mode": "off"}}, "enforce: it denies pods that cannot work, and it changes no pod."),
    ],
)
def test_notes_name_mode_in_force(config: Values, said: str) -> None:
    assert f"Its mode is {said}" in notes({"config": config})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            "default",
            "its ports 10250 (reviews) and 8080 (health and metrics), because\nnetworkPolicy.enabled is false.",
        ),
        (
            "host-network",
            "its ports 9443 (reviews) and 9080 (health and metrics), because\nNetworkPolicies usually ignore",
        ),
        ("monitoring", ""),
    ],
)
def test_notes_say_whether_every_pod_reaches_ports(values: str, said: str) -> None:
    assert ("Every pod of the cluster can reach" in notes(values)) is bool(said)
    assert said in notes(values)


def test_notes_lead_to_pages_that_exist() -> None:
    usual = ["docs/how-to/alerts/GpushareWebhookReplicasMissing.md", "docs/how-to/install.md"]
    assert re.findall(r"docs/[\w/-]+\.md", notes("default")) == usual
    pages = re.findall(r"docs/[\w/-]+\.md", notes({"mixedCluster": True}))
    assert pages == [*usual, "docs/how-to/mixed-clusters.md"]
    assert all((ROOT / page).is_file() for page in pages)
    assert '"Limit the network traffic"' in notes("default")
    assert "\n## Limit the network traffic\n" in (ROOT / "docs/how-to/install.md").read_text()


def test_example_pod_requests_first_resource() -> None:
    assert "limits: {nvidia.com/gpu: 2}" in notes("default")
    assert "limits: {example.com/mps: 2}" in notes({"config": {"resources": [{"name": "example.com/mps"}]}})
    whole, shared = {"name": "nvidia.com/gpu", "kind": "whole"}, {"name": "example.com/mps", "kind": "shared"}
    assert "limits: {example.com/mps: 2}" in notes({"config": {"resources": [whole, shared]}})
    assert "two replicas" not in notes({"config": {"resources": [whole]}})


def test_command_annotates_account_with_cap() -> None:
    """The notes and the page write one annotation to the object from which webhook and guard take the cap."""
    values = {"fullnameOverride": "gpushare-webhook", "namespaceOverride": "gpushare-webhook"}
    (said,) = re.findall(r"^ +(kubectl annotate .+\\\n.+)$", notes(values), re.MULTILINE)
    (shown,) = [text for _, text in blocks(ROOT / "docs" / "how-to" / "emergency.md") if "mode=warn" in text]
    assert shlex.split(said.replace("\\\n", " ")) == shlex.split(shown.replace("\\\n", " "))
    accounts = [one["metadata"] for one in objects(values) if one["kind"] == "ServiceAccount"]
    assert [one["name"] for one in accounts if one["name"].endswith("-mode")] == ["gpushare-webhook-mode"]


def test_default_values_give_no_warning() -> None:
    assert warnings("default") == []


UNGUARDED = {"guard": {"enabled": False}}
SELECTED = {"selector": {"matchLabels": {"team": "a"}}, "mode": "audit"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"replicas": 1}, "a single replica cannot answer while it moves to another node. Set replicas to"),
        ({"autoscaling": {"enabled": True, "minReplicas": 1}}, "Set autoscaling.minReplicas to 2 or more"),
        ({**UNGUARDED, "webhooks": {"validating": {"failurePolicy": "Ignore"}}}, "GPU pods are admitted unchecked"),
        ({"webhooks": {"mutating": {"failurePolicy": "Fail"}}}, "GPU pods are rejected"),
        ({"rbac": {"create": False}}, f"grant the service account {FULLNAME} its permissions"),
        ({"test": {"namespace": "kube-system"}}, "so there is no `helm test`"),
        ({"config": {"facts": {"runtimeClasses": False}}}, "cannot detect CDI, and injects runtimeClassName nvidia"),
        ({"config": None}, "config.facts.runtimeClasses is false"),
        ({"config": {"profile": "host-daemon"}}, "every node with GPUs counts as an MPS node"),
        (
            {"config": {"limits": {"fromDevicePlugin": True}}},
            "config.limits.fromDevicePlugin is true, but",
        ),
        ({"mixedCluster": True}, "mixedCluster is true, but config.facts.devicePlugin names no ConfigMap"),
        (
            {"mixedCluster": True, "config": {"facts": {"devicePlugin": {"version": "v0.20.0"}}}},
            "config.limits applies to every node",
        ),
        ({"config": {"namespaces": [SELECTED]}}, "an entry of config.namespaces has a selector, but"),
        (
            {"config": {"injections": {"tolerations": {"fromNodes": ["gpu.example.com/*"]}}}},
            "so that it tolerates none of their taints",
        ),
        ("existing-secret", "you must renew the Secret gpushare-webhook-serving"),
    ],
    ids=str,
)
def test_risky_values_give_warning(values: Any, expected: str) -> None:
    (warning,) = warnings(values)
    assert expected in warning


MIXED = {"mixedCluster": True}
FROM_NODES = {"tolerations": {"fromNodes": ["gpu.example.com/*"]}}


@pytest.mark.parametrize(
    "values",
    [
        "mixed-cluster",
        MIXED | {"config": {"limits": {"fromDevicePlugin": False}}},
        MIXED | {"config": {"facts": {"devicePlugin": "a/b"}}},
        {"config": {"limits": {"fromDevicePlugin": True}, "facts": {"devicePlugin": "a/b"}}},
        {"config": {"namespaces": [SELECTED], "facts": {"namespaces": True}}},
        {"config": {"namespaces": [{"names": ["a"], "selector": None}]}},
        {"config": {"injections": FROM_NODES, "placement": {"nodeGroups": [{"name": "t4"}]}}},
        {"config": {"injections": FROM_NODES, "facts": {"nodes": True}}},
        {"config": {"injections": {"tolerations": {"enabled": False, "fromNodes": ["gpu.example.com/*"]}}}},
    ],
    ids=str,
)
def test_settings_with_their_facts_give_no_warning(values: str | Values) -> None:
    assert warnings(values) == []


def test_namespace_override_names_namespace_of_objects() -> None:
    said = notes({"namespaceOverride": "elsewhere"})
    assert f"is installed as elsewhere/{FULLNAME}.\n" in said
    assert f"helm test {RELEASE} --namespace {NAMESPACE}\n" in said
    (warning,) = warnings({"namespaceOverride": "default"})
    assert "ignores it" in warning


def test_exempt_namespace_of_helm_test_gives_warning() -> None:
    assert "two replicas" not in notes("default", "default")
    (warning,) = warnings("default", namespace="default")
    assert "ignores it" in warning
    assert "helm test" not in notes("default", "default")


def test_disabled_rbac_without_need_gives_no_warning() -> None:
    config = {"profile": "openshift", "facts": {"runtimeClasses": False}}
    assert warnings({"rbac": {"create": False}, "tls": {"mode": "cert-manager"}, "config": config}) == []


@pytest.mark.parametrize("runtime_class", [{"enabled": False}, {"whenUnknown": "skip"}, {"whenCdi": "inject"}], ids=str)
def test_unread_runtime_classes_that_change_no_injection_give_no_warning(runtime_class: Values) -> None:
    config = {"facts": {"runtimeClasses": False}, "injections": {"runtimeClass": runtime_class}}
    assert warnings({"config": config}) == []


@pytest.mark.parametrize(
    "config",
    [{"profile": "host-daemon", "placement": {"mpsLabels": {"a.io/mps": "on"}}}]
    + [{"profile": "host-daemon", "placement": {"mpsLabels": {}}}]
    + [{"profile": name} for name in PROFILES if name != "host-daemon"],
    ids=str,
)
def test_profiles_give_no_warning(config: Values) -> None:
    assert warnings({"config": config}) == []


@pytest.mark.parametrize(
    "values",
    [
        {"test": {"namespace": "kube-system"}},
        {"webhooks": {"excludedNamespaces": ["default"]}},
        {"config": {"exempt": {"namespaces": ["default"]}}},
        {"rbac": {"create": False}},
    ],
    ids=str,
)
def test_helm_test_is_not_suggested_where_it_cannot_pass(values: Values) -> None:
    assert "helm test " not in re.sub(r"WARNING: .+", "", notes(values))
    assert [one["kind"] for one in objects(values) if is_test(one)] == []


def test_advisory_mode_gives_no_policy_warning() -> None:
    assert warnings("no-injections") == []
