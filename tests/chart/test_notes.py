"""What Helm says after an installation: how to verify it, how to stop it, and what to know about the values."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from tests.chart.render import CHART, FULLNAME, MODES, NAMESPACE, RELEASE, Values, helm, is_test, objects
from tests.project.repository import ROOT, blocks


def notes(values: str | Values, namespace: str = NAMESPACE) -> str:
    arguments = ("install", RELEASE, str(CHART), "--namespace", namespace, "--dry-run=client")
    return helm(*arguments, values=values).rpartition("\nNOTES:\n")[2]


def warnings(values: str | Values, **options: str) -> list[str]:
    return re.findall(r"^WARNING: (.+)$", notes(values, **options), re.MULTILINE)


@pytest.mark.parametrize("mode", MODES)
def test_the_commands_name_the_release(mode: str) -> None:
    said = notes(mode)
    assert ("helm test " in said) is (mode != "small")
    assert f"helm upgrade {RELEASE} CHART --namespace {NAMESPACE} --reuse-values" in said
    assert f"kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration {FULLNAME}\n" in said + "\n"
    assert not re.search(r"[ \t]$|\n\n\n|<no value>", said, re.MULTILINE)


def test_the_pod_to_try_asks_for_the_first_resource() -> None:
    assert "limits: {nvidia.com/gpu: 2}" in notes("default")
    assert "limits: {example.com/mps: 2}" in notes({"config": {"resources": [{"name": "example.com/mps"}]}})
    whole, shared = {"name": "nvidia.com/gpu", "kind": "whole"}, {"name": "example.com/mps", "kind": "shared"}
    assert "limits: {example.com/mps: 2}" in notes({"config": {"resources": [whole, shared]}})
    assert "two replicas" not in notes({"config": {"resources": [whole]}})


def test_enforcement_is_switched_off_wherever_it_was_set() -> None:
    """The command's flags over values that enforce in every way: a namespace's mode, both failure policies."""
    page = ROOT / "docs" / "how-to" / "emergency.md"
    (shown,) = [content for _, content in blocks(page) if "--reuse-values" in content]
    for said in (shown, notes("everything").partition("Turn off enforcement:")[2].partition("Remove the")[0]):
        words = shlex.split(said.replace("\\\n", " "))
        flags = words[words.index("--reuse-values") + 1 :]
        values = {
            "config": {"mode": "enforce", "namespaces": [{"names": ["a"], "mode": "enforce"}]},
            "webhooks": {"mutating": {"failurePolicy": "Fail"}},
        }
        text = helm("template", RELEASE, str(CHART), *flags, values=values)
        assert "failurePolicy: Fail" not in text
        assert "mode: enforce" not in text
        assert "mode: warn" in text


def test_nothing_is_to_be_warned_of_without_values() -> None:
    assert warnings("default") == []


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"replicas": 1}, "a single replica cannot answer"),
        ({"webhooks": {"validating": {"failurePolicy": "Ignore"}}}, "GPU pods are admitted unchecked"),
        ({"webhooks": {"mutating": {"failurePolicy": "Fail"}}}, "GPU pods are rejected"),
        ({"rbac": {"create": False}}, f"grant the service account {FULLNAME} its permissions"),
        ({"test": {"namespace": "kube-system"}}, "so there is no `helm test`"),
        (
            {"config": {"workloads": {"paths": [{"group": "ray.io", "kind": "RayJob", "path": "spec"}] * 2}}},
            "config.workloads.paths names ray.io/RayJob, but",
        ),
        ({"hostNetwork": True, "config": {"server": {"port": 9443}}}, "one node per replica on which the port is free"),
        ("existing-secret", "you must renew the Secret gpushare-webhook-serving"),
    ],
    ids=str,
)
def test_values_that_need_care(values: Any, told: str) -> None:
    (warning,) = warnings(values)
    assert told in warning


def test_the_namespace_of_the_tests_is_no_place_for_the_webhook() -> None:
    assert "two replicas" not in notes("default", "default")
    (warning,) = warnings("default", namespace="default")
    assert "ignores it" in warning
    assert "helm test" not in notes("default", "default")


def test_no_rights_are_missed_where_none_are_needed() -> None:
    told = warnings(
        {"rbac": {"create": False}, "tls": {"mode": "cert-manager"}, "config": {"facts": {"runtimeClasses": False}}}
    )
    assert told == []


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
def test_no_test_is_offered_that_could_not_pass(values: Values) -> None:
    assert "helm test " not in re.sub(r"WARNING: .+", "", notes(values))
    assert [one["kind"] for one in objects(values) if is_test(one)] == []


def test_advice_alone_needs_no_warning_about_its_policy() -> None:
    assert warnings("no-injections") == []
