"""The webhook configurations: their entries, addresses and selectors."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.chart.matching import selects
from tests.chart.render import NAMESPACE, WEBHOOK_MODES, entries, entry
from webhook.admission import Hook
from webhook.policy.settings.settings import Exempt
from webhook.policy.workloads.presets import PRESETS

pytestmark = pytest.mark.slow

LEVEL = "pod-security.kubernetes.io/enforce"
NAME = "kubernetes.io/metadata.name"
BY_DEFAULT = {
    "pods.mutate": ("/mutate", "Ignore"),
    "pods-without-hostpath.mutate": ("/mutate/without-hostpath", "Ignore"),
    "tolerations.mutate": ("/mutate", "Ignore"),
    "pods.validate": ("/validate", "Fail"),
    "templates.validate": ("/validate", "Fail"),
    "job-templates.validate": ("/validate", "Fail"),
    "pod-templates.validate": ("/validate", "Fail"),
    "ephemeral-containers.validate": ("/validate", "Ignore"),
    "other-pods.validate": ("/validate", "Ignore"),
    "other-templates.validate": ("/validate", "Ignore"),
    "other-job-templates.validate": ("/validate", "Ignore"),
    "other-pod-templates.validate": ("/validate", "Ignore"),
}
CUSTOM = {f"{preset.name}.validate" for preset in PRESETS}
BY_DEFAULT |= dict.fromkeys(CUSTOM, ("/validate", "Ignore"))
ADVISING = {name for name, (path, policy) in BY_DEFAULT.items() if (path, policy) == ("/validate", "Ignore")}


def short(one: dict[str, Any]) -> str:
    name: str = one["name"]
    assert name.endswith(".gpushare-webhook.io")
    return name.removesuffix(".gpushare-webhook.io")


def is_custom(one: dict[str, Any]) -> bool:
    """Whether an entry is that of a preset, or has the name of a custom kind: RESOURCE.GROUP.validate."""
    return short(one) in CUSTOM or short(one).count(".") > 1


UNGUARDED = {"guard": {"enabled": False}}


def test_default_entries() -> None:
    found, unguarded = (
        {short(one): (one["clientConfig"]["service"]["path"], one["failurePolicy"]) for one in entries(values)}
        for values in ({}, UNGUARDED)
    )
    assert unguarded == BY_DEFAULT
    assert found == {name: (path, "Ignore") for name, (path, _) in BY_DEFAULT.items()}
    assert {path for path, _ in found.values()} == {hook.path for hook in Hook}


@pytest.mark.parametrize("mode", WEBHOOK_MODES)
def test_every_entry_follows_the_rules(mode: str) -> None:
    names = [one["name"] for one in entries(mode)]
    assert len(set(names)) == len(names)
    for one in entries(mode):
        assert re.fullmatch(r"[a-z0-9.-]+\.(mutate|validate)\.gpushare-webhook\.io", one["name"])
        assert one["admissionReviewVersions"] == ["v1"]
        assert (one["sideEffects"], one["matchPolicy"]) == ("None", "Equivalent")
        assert 1 <= one["timeoutSeconds"] <= 30
        assert 1 <= len(one["matchConditions"]) <= 64
        for rule in one["rules"]:
            assert not {"*", "*/*"} & {*rule["apiGroups"], *rule["operations"], *rule["resources"]}
            if not is_custom(one):
                assert rule["scope"] == "Namespaced"
                assert "*" not in rule["apiVersions"]
            subresources = [resource for resource in rule["resources"] if "/" in resource]
            assert subresources == (["pods/ephemeralcontainers"] if short(one).startswith("ephemeral-") else [])
        for namespace in (NAMESPACE, "kube-system", "kube-node-lease"):
            assert not selects(one["namespaceSelector"], {NAME: namespace})


def test_advisory_entries_always_ignore_failures() -> None:
    values = {
        "webhooks": {
            "mutating": {"failurePolicy": "Fail", "timeoutSeconds": 2, "reinvocationPolicy": "Never"},
            "validating": {"failurePolicy": "Ignore", "timeoutSeconds": 7},
        }
    }
    found = {short(one): one for one in entries(values)}
    assert {name: one["failurePolicy"] for name, one in found.items()} == {
        name: "Fail" if name.endswith(".mutate") else "Ignore" for name in BY_DEFAULT
    }
    strict = {name: one["failurePolicy"] for name, one in ((short(one), one) for one in entries(UNGUARDED))}
    assert {name for name, policy in strict.items() if policy == "Fail"} == {
        name for name in BY_DEFAULT if name.endswith(".validate") and name not in ADVISING
    }
    assert {one["timeoutSeconds"] for name, one in found.items() if name.endswith(".mutate")} == {2}
    assert {one["timeoutSeconds"] for name, one in found.items() if name.endswith(".validate")} == {7}
    assert {one.get("reinvocationPolicy") for one in found.values()} == {"Never", None}


ANNOTATED = {f"annotated-{name}" for name in BY_DEFAULT if name.endswith(".mutate")}


def test_entries_for_requests_by_annotation_always_ignore_failures() -> None:
    values = {"config": {"profile": "kai"}, "webhooks": {"mutating": {"failurePolicy": "Fail"}}}
    found = {short(one): one for one in entries(values)}
    assert found.keys() == BY_DEFAULT.keys() | ANNOTATED
    for name in ANNOTATED:
        usual = found[name.removeprefix("annotated-")]
        assert (found[name]["failurePolicy"], usual["failurePolicy"]) == ("Ignore", "Fail")
        for key in ("rules", "namespaceSelector", "clientConfig", "timeoutSeconds", "reinvocationPolicy"):
            assert found[name][key] == usual[key], key


@pytest.mark.parametrize(
    ("config", "hostpath"),
    [
        ({}, {None: True}),
        ({"podSecurity": {"unlabelled": "privileged"}}, {None: True}),
        ({"podSecurity": {"unlabelled": "baseline"}}, {None: False}),
        ({"podSecurity": {"unlabelled": "restricted"}}, {None: False}),
        ({"profile": "openshift"}, {None: False}),
        ({"profile": "openshift", "podSecurity": {"unlabelled": "privileged"}}, {None: True}),
    ],
)
def test_pod_security_label_selects_one_path_for_each_namespace(config: Any, hostpath: dict[str | None, bool]) -> None:
    values = {"config": config}
    allowed, forbidden = (entry(name, values) for name in ("pods.mutate", "pods-without-hostpath.mutate"))
    for level, may in (hostpath | {"privileged": True, "baseline": False, "restricted": False}).items():
        labels = {NAME: "team"} | ({LEVEL: level} if level is not None else {})
        assert selects(allowed["namespaceSelector"], labels) is may
        assert selects(forbidden["namespaceSelector"], labels) is not may


def test_each_hook_may_have_its_own_namespaces() -> None:
    ours, all_of_them = {"matchLabels": {"gpus": "ours"}}, {"matchExpressions": [{"key": "gpus", "operator": "Exists"}]}
    values = {"webhooks": {"namespaceSelector": all_of_them, "mutating": {"namespaceSelector": ours}}}
    names = ("pods.mutate", "tolerations.mutate", "pods.validate")
    found = {name: entry(name, values)["namespaceSelector"] for name in names}
    labelled: list[dict[str, str]] = [{"gpus": "ours"}, {"gpus": "theirs"}, {}]
    selected = {
        name: [selects(selector, {NAME: "team"} | labels) for labels in labelled] for name, selector in found.items()
    }
    assert selected == {
        "pods.mutate": [True, False, False],
        "tolerations.mutate": [True, True, False],
        "pods.validate": [True, True, False],
    }


def excluded(values: Any, labels: dict[str, str]) -> bool:
    """Whether no entry selects a namespace; apart from the Pod Security split, all entries agree."""
    found = {selects(one["namespaceSelector"], labels) for one in entries(values) if "pods" not in one["name"]}
    (selected,) = found
    return not selected


def test_exempt_namespaces_are_not_selected() -> None:
    for namespace in Exempt().namespaces:
        assert excluded({}, {NAME: namespace})
    assert not excluded({}, {NAME: "team"})
    values = {"config": {"exempt": {"namespaces": ["lab"]}}, "webhooks": {"excludedNamespaces": ["argocd"]}}
    assert [excluded(values, {NAME: name}) for name in ("lab", "argocd", "kube-system", "gpu-operator")] == [
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(("given", "value", "other"), [("a.io/off", "true", "no"), ("a.io/off=gpu", "gpu", "true")])
def test_exempt_label_works_without_facts(given: str, value: str, other: str) -> None:
    values = {"config": {"exempt": {"label": given}}}
    assert excluded(values, {NAME: "team", "a.io/off": value})
    assert not excluded(values, {NAME: "team", "a.io/off": other})


def test_namespace_opts_out_by_label_only_if_allowed() -> None:
    labels = {NAME: "team", "gpushare-webhook/ignore": "true"}
    assert not excluded({}, labels)
    assert excluded({"webhooks": {"ignoreLabel": True}}, labels)
    assert not excluded({"webhooks": {"ignoreLabel": True}}, labels | {"gpushare-webhook/ignore": "false"})
