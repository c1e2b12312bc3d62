"""The notes of an installation: how to verify it, how to stop it, and warnings about values."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.render import (
    FULLNAME,
    NAMESPACE,
    RELEASE,
    WEBHOOK_MODES,
    Values,
    entry,
    is_test,
    objects,
    pod_spec,
    render,
)
from tests.chart.test_settings import read, settings_file
from tests.project.repository import ROOT, blocks
from webhook.policy.settings.elements import DevicePluginSource
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
    assert ("kubectl annotate " in said) is pod_spec(mode)["automountServiceAccountToken"]
    assert f"kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration {FULLNAME}\n" in said + "\n"
    assert not re.search(r"[ \t]$|\n\n\n|<no value>", said, re.MULTILINE)


DELETED = "kubectl delete validatingadmissionpolicybinding,mutatingadmissionpolicybinding"
SELECTED_POLICIES = f"--selector app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component=policies"


def test_notes_of_policies_show_how_to_remove_them() -> None:
    for mode in ("policies", "policies-only"):
        assert f"  {DELETED} \\\n    {SELECTED_POLICIES}\n" in notes(mode) + "\n"
    assert "admissionpolicy" not in notes("default")
    assert "the webhook does the rest." in notes("policies")


def test_notes_without_webhook_name_only_what_is_installed() -> None:
    said = notes("policies-only")
    assert "No webhook runs: the API server itself enforces the settings, by admission policies.\n" in said
    assert f"kubectl annotate serviceaccount {FULLNAME}-parameters " in said
    assert "gpushare-webhook/mode=off" in said
    assert "webhookconfiguration" not in said
    assert "the API server rejects it or\nwarns about it" in said
    assert not re.search(r"[ \t]$|\n\n\n|<no value>", said, re.MULTILINE)


def test_example_pod_requests_first_resource() -> None:
    assert "limits: {nvidia.com/gpu: 2}" in notes("default")
    assert "limits: {example.com/mps: 2}" in notes({"config": {"resources": [{"name": "example.com/mps"}]}})
    whole, shared = {"name": "nvidia.com/gpu", "kind": "whole"}, {"name": "example.com/mps", "kind": "shared"}
    assert "limits: {example.com/mps: 2}" in notes({"config": {"resources": [whole, shared]}})
    assert "two replicas" not in notes({"config": {"resources": [whole]}})


def test_command_annotates_config_map_of_settings() -> None:
    """The notes and the page write one annotation to the object from which the pods take their settings."""
    values = {"fullnameOverride": "gpushare-webhook", "namespaceOverride": "gpushare-webhook"}
    (said,) = re.findall(r"^ +(kubectl annotate .+\\\n.+)$", notes(values), re.MULTILINE)
    (shown,) = [text for _, text in blocks(ROOT / "docs" / "how-to" / "emergency.md") if "mode=warn" in text]
    assert shlex.split(said.replace("\\\n", " ")) == shlex.split(shown.replace("\\\n", " "))
    (settings,) = [one for one in objects(values) if one["kind"] == "ConfigMap" and "settings.yaml" in one["data"]]
    assert (settings["metadata"]["name"], settings["metadata"]["namespace"]) == ("gpushare-webhook",) * 2


def test_default_values_give_no_warning() -> None:
    assert warnings("default") == []


ALONE = {"policies": {"enabled": True, "only": True}}


def test_policies_alone_warn_of_unknown_runtime_classes() -> None:
    config: dict[str, Any] = {"facts": {"runtimeClasses": False}}
    (warning,) = warnings(ALONE | {"config": config})
    assert "nothing detects CDI or a missing RuntimeClass, and the policies inject runtimeClassName nvidia" in warning
    config["injections"] = {"runtimeClass": {"whenCdi": "inject"}}
    assert warnings(ALONE | {"config": config}) == []


SELECTED = {"selector": {"matchLabels": {"team": "a"}}, "mode": "audit"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"replicas": 1}, "a single replica cannot answer while it moves to another node. Set replicas to"),
        ({"autoscaling": {"enabled": True, "minReplicas": 1}}, "Set autoscaling.minReplicas to 2 or more"),
        ({"webhooks": {"validating": {"failurePolicy": "Ignore"}}}, "GPU pods are admitted unchecked"),
        ({"webhooks": {"mutating": {"failurePolicy": "Fail"}}}, "GPU pods are rejected"),
        ({"rbac": {"create": False}}, f"grant the service account {FULLNAME} its permissions"),
        ({"test": {"namespace": "kube-system"}}, "so there is no `helm test`"),
        (
            {
                "webhooks": {
                    "customKinds": [{"group": "ray.io", "kind": "RayJob", "versions": ["v1"], "resource": "rays"}]
                }
            },
            "webhooks.customKinds is deprecated",
        ),
        ({"config": {"facts": {"runtimeClasses": False}}}, "cannot detect CDI, and injects runtimeClassName nvidia"),
        ({"config": None}, "config.facts.runtimeClasses is false"),
        ({"config": {"profile": "host-daemon"}}, "every node with GPUs counts as an MPS node"),
        ({"hostNetwork": True, "config": {"server": {"port": 9443}}}, "one node per replica on which the port is free"),
        (
            {"config": {"limits": {"fromDevicePlugin": True}}},
            "config.limits.fromDevicePlugin is true, but",
        ),
        ({"mixedCluster": True}, "mixedCluster is true, but config.facts.devicePlugin names no ConfigMap"),
        (
            {"mixedCluster": True, "config": {"facts": {"devicePlugin": {"version": "v0.20.0"}}}},
            "config.limits applies to every node",
        ),
        (
            {"config": {"facts": {"deviceClasses": True}}},
            "while a DeviceClass serves a shared resource, its limits only",
        ),
        ({"config": {"namespaces": [SELECTED]}}, "an entry of config.namespaces has a selector, but"),
        ({"config": {"injections": {"memory": {"enabled": True}}}}, "so that it cannot size requests by memory"),
        (
            {"config": {"injections": {"tolerations": {"fromNodes": ["gpu.example.com/*"]}}}},
            "so that it tolerates none of their taints",
        ),
        ("existing-secret", "you must renew the Secret gpushare-webhook-serving"),
        (
            {"policies": {"enabled": True}, "config": {"limits": {"mpsMayAcceptMore": True}}},
            "nothing makes them while no replica answers: GPS001 (config.limits.mpsMayAcceptMore)",
        ),
        (
            {"policies": {"enabled": True}, "config": {"severities": {"GPS008": "deny"}}},
            "nothing makes them while no replica answers: GPS008. Change",
        ),
        (
            {
                "policies": {"enabled": True},
                "config": {"namespaces": [{"names": ["a"], "severities": {"GPS012": "deny"}}]},
            },
            "nothing makes them while no replica answers: GPS012. Change",
        ),
        (
            {"policies": {"enabled": True}, "config": {"facts": {"nodes": True}, "severities": {"GPS017": "warn"}}},
            "by the last facts: GPS001 (config.facts.nodes), GPS002 (config.facts.nodes), GPS004 (config.facts.nodes), "
            "GPS010 (config.facts.nodes).",
        ),
    ],
    ids=str,
)
def test_risky_values_give_warning(values: Any, expected: str) -> None:
    (warning,) = warnings(values)
    assert expected in warning


def test_deprecation_shows_what_to_write_instead(tmp_path: Path) -> None:
    """What the notes show produces the rule of the deprecated value."""
    path = {"group": "example.com", "kind": "Train", "path": "spec.cars[*].engine", "holds": "container"}
    train = {"group": "example.com", "kind": "Train", "versions": ["v1", "v1beta1"], "resource": "rails"}
    jobset = {"group": "jobset.x-k8s.io", "kind": "JobSet", "versions": ["v1alpha2"], "resource": "jobsets"}
    before = {"config": {"workloads": {"paths": [path]}}, "webhooks": {"customKinds": [train, jobset]}}
    said = notes(before)
    assert "The preset jobset contains JobSet, which needs no value.\n" in said
    assert "webhooks.validating.customKindsFailurePolicy decides about them: it is Ignore." in said
    (example,) = [yaml.safe_load(text) for text in re.findall(r"^  config:\n(?: {4}.+\n?)+", said, re.MULTILINE)]
    assert read(settings_file(example), tmp_path)
    name = "rails.example.com.validate"
    assert entry(name, example) == entry(name, before)
    assert warnings(example) == []


def test_warning_shows_where_device_plugins_keep_their_settings(tmp_path: Path) -> None:
    said = notes(MIXED).replace("gpu-operator/NAME", "gpu-operator/configs")
    examples = [yaml.safe_load(text) for text in re.findall(r"^  config:\n(?: {4}.+\n?)+", said, re.MULTILINE)]
    sources = [read(settings_file(values), tmp_path).settings.facts.device_plugin for values in examples]
    assert sources == [
        DevicePluginSource(
            ("nvidia-device-plugin/nvdp-nvidia-device-plugin-configs",),
            "nvidia-device-plugin/nvdp-nvidia-device-plugin",
        ),
        DevicePluginSource(("gpu-operator/configs",), "gpu-operator/nvidia-device-plugin-daemonset"),
    ]


MIXED = {"mixedCluster": True}
FROM_NODES = {"tolerations": {"fromNodes": ["gpu.example.com/*"]}}


@pytest.mark.parametrize(
    "values",
    [
        "mixed-cluster",
        MIXED | {"config": {"limits": {"fromDevicePlugin": False}}},
        MIXED | {"config": {"facts": {"devicePlugin": "a/b"}, "injections": {"memory": {"enabled": True}}}},
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
