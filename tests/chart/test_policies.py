"""The policies of the API server: when the chart installs them, and what it installs beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.render import (
    CHART,
    FULLNAME,
    MODES,
    NAMESPACE,
    RefusedError,
    Values,
    entry,
    is_test,
    objects,
    of_kind,
    pod_spec,
    render,
    rendered,
)
from tests.chart.test_rights import rules
from tests.chart.test_settings import read, settings_file
from webhook.inprocess.injecting.policy import MUTATIONS
from webhook.inprocess.installation import Installation
from webhook.inprocess.kinds import covered
from webhook.inprocess.mutating import mutating
from webhook.inprocess.policies import policies as made
from webhook.inprocess.validating import RULES
from webhook.policy.verdict import Severity
from webhook.settings.configuration import view

pytestmark = pytest.mark.slow

COMPONENT = "app.kubernetes.io/component"
CHECKING, INJECTING = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"
ON: dict[str, Any] = {"policies": {"enabled": True}}
STATIC: dict[str, Any] = {"config": {"facts": {"runtimeClasses": False}}}
ALONE: dict[str, Any] = {"policies": {"enabled": True, "only": True}} | STATIC


def served(values: Values, kubernetes: str, *kinds: str) -> list[dict[str, Any]]:
    """The objects on an API server that serves these kinds."""
    apis = [f"admissionregistration.k8s.io/v1/{kind}" for kind in kinds]
    return [*render(values, kubernetes=kubernetes, apis=apis).objects]


def kinds(manifests: list[dict[str, Any]]) -> set[str]:
    """The kinds of policies and bindings among objects."""
    return {one["kind"] for one in manifests if "AdmissionPolicy" in one["kind"]}


def pairs(*policies: str) -> set[str]:
    return {*policies, *(f"{policy}Binding" for policy in policies)}


@pytest.mark.parametrize(
    ("kubernetes", "served_kinds", "expected"),
    [
        ("1.36.0", (CHECKING, INJECTING), pairs(CHECKING, INJECTING)),
        ("1.36.0", (CHECKING,), pairs(CHECKING)),
        ("1.35.4-gke.1", (CHECKING, INJECTING), pairs(CHECKING)),
        ("1.34.0", (CHECKING,), set()),
        ("1.36.0", (), set()),
    ],
)
def test_auto_uses_policies_that_api_server_serves(
    kubernetes: str, served_kinds: tuple[str, ...], expected: set[str]
) -> None:
    found = served({"policies": {"enabled": "auto"}}, kubernetes, *served_kinds)
    assert kinds(found) == expected
    (settings,) = [one["data"]["settings.yaml"] for one in found if "settings.yaml" in one.get("data", {})]
    assert yaml.safe_load(settings).get("policies") == ({"enabled": True} if expected else None)


def test_policies_are_off_by_default() -> None:
    assert kinds(list(objects({}))) == set()


@pytest.mark.parametrize("chosen", [None, "Fail", "Ignore"])
@pytest.mark.parametrize("on", [False, True])
def test_failure_policy_of_hooks_defaults_to_ignore_beside_policies(chosen: str | None, on: bool) -> None:
    values = {"policies": {"enabled": on}, "webhooks": {"validating": {"failurePolicy": chosen}}}
    for name in ("pods.validate", "templates.validate", "job-templates.validate", "pod-templates.validate"):
        assert entry(name, values)["failurePolicy"] == (chosen or ("Ignore" if on else "Fail"))


def test_policies_alone_install_no_workload() -> None:
    lasting = [one for one in objects(ALONE) if not is_test(one)]
    assert {one["kind"] for one in lasting} == pairs(CHECKING, INJECTING) | {"ConfigMap", "ServiceAccount"}
    assert [one["metadata"]["name"] for one in lasting if one["kind"] == "ConfigMap"] == [FULLNAME]
    assert [one["metadata"]["name"] for one in lasting if one["kind"] == "ServiceAccount"] == [f"{FULLNAME}-parameters"]


def test_command_roles_are_installed_without_webhook() -> None:
    assert of_kind("ClusterRole", ALONE | {"rbac": {"commandRoles": True}})


PARAMETERS = {("", "serviceaccounts", f"{FULLNAME}-parameters", verb) for verb in ("get", "patch")}


@pytest.mark.parametrize("config", [{}, {"facts": {"runtimeClasses": False}}], ids=["facts", "no facts"])
def test_webhook_may_write_only_its_parameters(config: Values) -> None:
    values = ON | {"config": config, "tls": {"mode": "cert-manager"}}
    assert {rule for rule in rules(of_kind("Role", values)) if rule[1] == "serviceaccounts"} == PARAMETERS
    assert pod_spec(values)["automountServiceAccountToken"] is True


def parameters(values: Values) -> list[dict[str, Any]]:
    return [one for one in of_kind("ServiceAccount", values) if one["metadata"]["name"] == f"{FULLNAME}-parameters"]


def test_parameters_are_rendered_without_annotations() -> None:
    (account,) = parameters(ON)
    assert "annotations" not in account["metadata"]
    assert account["automountServiceAccountToken"] is False


def test_parameters_exist_only_beside_policies() -> None:
    assert parameters({}) == []
    assert len(parameters(ALONE)) == 1


def test_every_policy_takes_parameters_of_release_alone() -> None:
    """No tenant can bring his own, and a missing object stops nothing."""
    for values in (ON, ALONE):
        (account,) = parameters(values)
        found = policies(values)
        for (kind, name), spec in found.items():
            if kind.endswith("Binding"):
                policy = found[kind.removesuffix("Binding"), name]
                assert ("paramRef" in spec) is ("paramKind" in policy)
                if "paramRef" in spec:
                    names = {key: account["metadata"][key] for key in ("name", "namespace")}
                    assert spec["paramRef"] == names | {"parameterNotFoundAction": "Allow"}
                    assert policy["paramKind"] == {key: account[key] for key in ("apiVersion", "kind")}


SELECTED: dict[str, Any] = {
    "excludedNamespaces": ["argocd"],
    "ignoreLabel": True,
    "namespaceSelector": {"matchLabels": {"gpus": "allowed"}},
    "objectSelector": {"matchExpressions": [{"key": "example.com/skip", "operator": "DoesNotExist"}]},
    "matchConditions": [{"name": "not-the-deployer", "expression": "request.userInfo.username != 'deployer'"}],
}
OWN_SELECTORS: dict[str, Any] = {
    "validating": {"namespaceSelector": {"matchLabels": {"gpus": "checked"}}},
    "mutating": {"namespaceSelector": {"matchLabels": {"gpus": "changed"}}},
}


def test_policies_see_what_hooks_see() -> None:
    values = ON | {"webhooks": SELECTED, "config": {"exempt": {"label": "example.com/no-mps"}}}
    hooks = {"injections": "tolerations.mutate", "tolerations": "tolerations.mutate"}
    for (kind, name), spec in policies(values).items():
        short = name.removeprefix(f"{FULLNAME}-")
        if not kind.endswith("Binding"):
            assert spec["matchConditions"][-1] == SELECTED["matchConditions"][0]
            continue
        hook = entry(hooks.get(short, "pods.validate"), values)
        expected = {"namespaceSelector": hook["namespaceSelector"], "objectSelector": hook["objectSelector"]}
        assert spec["matchResources"] == expected, name


def test_policies_alone_apply_where_their_own_selectors_select() -> None:
    for (kind, name), spec in policies(ALONE | {"webhooks": OWN_SELECTORS}).items():
        if kind.endswith("Binding") and not name.endswith("-tolerations"):
            hook = "mutating" if kind.startswith(INJECTING) else "validating"
            selected = spec["matchResources"]["namespaceSelector"]["matchLabels"]
            assert selected == OWN_SELECTORS[hook]["namespaceSelector"]["matchLabels"], name


@pytest.mark.parametrize(
    ("config", "actions"),
    [
        ({}, {"Deny"}),
        ({"mode": "warn"}, {"Warn"}),
        ({"mode": "audit"}, {"Audit"}),
        ({"severities": dict.fromkeys((rule.code for rule in RULES), "off")}, set()),
    ],
    ids=str,
)
def test_bindings_follow_severities_and_mode(config: Values, actions: set[str]) -> None:
    found = {
        name: spec for (kind, name), spec in policies(ON | {"config": config}).items() if kind == f"{CHECKING}Binding"
    }
    denying = {f"{FULLNAME}-{rule.code.lower()}" for rule in RULES if rule.severity is Severity.DENY}
    assert {action for name in found.keys() & denying for action in found[name]["validationActions"]} == actions


@pytest.mark.parametrize("mode", ["report", "off"])
def test_injections_that_are_not_on_have_no_policy(mode: str) -> None:
    found = policies(ON | {"config": {"injections": {"mode": mode}}})
    names = {name for kind, name in found if kind.startswith(INJECTING)}
    assert names == {f"{FULLNAME}-tolerations"}


def test_policies_fit_into_an_annotation() -> None:
    """Client-side apply stores the object in an annotation, of which an object may have 256 KiB."""
    for mode in MODES:
        for spec in policies(with_policies(mode)).values():
            assert len(json.dumps(spec)) < 128 * 1024


REFUSED: dict[str, tuple[Values, str]] = {
    "an API server without the policies": (
        ON,
        "Kubernetes 1.35.0 serves no MutatingAdmissionPolicy v1, which needs 1.36: set policies.enabled to auto",
    ),
    "policies alone without policies": (
        {"policies": {"only": True}},
        "policies.only is true, but policies.enabled is false, so that nothing would be installed: set policies.",
    ),
    "policies alone that are not served": (
        {"policies": {"enabled": "auto", "only": True}} | STATIC,
        "serves no policies that policies.enabled: auto uses, so that nothing would be installed: set policies.only",
    ),
    "the setting that the chart writes": (
        {"config": {"policies": {"enabled": True}}},
        "config.policies.enabled is written by the chart: remove it, and set policies.enabled",
    ),
}


@pytest.mark.parametrize("label", REFUSED)
def test_policies_that_cannot_work_are_rejected(label: str) -> None:
    values, message = REFUSED[label]
    with pytest.raises(RefusedError, match=re.escape(message)):
        rendered(values, kubernetes="1.35.0")


def test_hooks_that_see_different_namespaces_are_rejected() -> None:
    differs = "webhooks.mutating.namespaceSelector differs from webhooks.validating.namespaceSelector, but /mutate"
    with pytest.raises(RefusedError, match=re.escape(differs)):
        rendered(ON | {"webhooks": OWN_SELECTORS})
    same = OWN_SELECTORS["validating"]
    assert policies(ON | {"webhooks": {"namespaceSelector": same["namespaceSelector"], "mutating": same}})


NEEDING: dict[str, Values] = {
    "mixedCluster": {"mixedCluster": True},
    "webhooks.url": {"webhooks": {"url": f"https://{FULLNAME}.{NAMESPACE}.svc"}},
    "webhooks.devicePluginConfigMaps": {"webhooks": {"devicePluginConfigMaps": ["a/b"]}},
    "autoscaling.enabled": {"autoscaling": {"enabled": True}},
    "rbac.limitPatches": {"rbac": {"limitPatches": True}},
    "networkPolicy.enabled": {"networkPolicy": {"enabled": True}},
    "metrics.prometheusRule.enabled": {"metrics": {"prometheusRule": {"enabled": True}}},
    "metrics.serviceMonitor.enabled": {"metrics": {"serviceMonitor": {"enabled": True}}},
    "metrics.podMonitor.enabled": {"metrics": {"podMonitor": {"enabled": True}}},
    "metrics.dashboard.enabled": {"metrics": {"dashboard": {"enabled": True}}},
    "tls.mode": {"tls": {"mode": "cert-manager"}},
    "config.facts.runtimeClasses": {"config": {"facts": {"runtimeClasses": True}}},
    "config.facts.devicePlugin": {"config": {"facts": {"runtimeClasses": False, "devicePlugin": "a/b"}}},
    "config.suppress.annotation": {
        "config": {"facts": {"runtimeClasses": False}, "suppress": {"annotation": "example.com/allow"}}
    },
    "config.events.enabled": {"config": {"facts": {"runtimeClasses": False}, "events": {"enabled": True}}},
}


@pytest.mark.parametrize("name", NEEDING)
def test_policies_alone_reject_values_that_need_webhook(name: str) -> None:
    with pytest.raises(RefusedError, match=rf"policies\.only installs no webhook, .*\b{re.escape(name)}\b.*\. Remove"):
        rendered({**ALONE, **NEEDING[name]})


def test_policies_alone_name_every_value_that_needs_webhook() -> None:
    values = ALONE | {"networkPolicy": {"enabled": True}, "config": {"facts": {"nodes": True}}}
    with pytest.raises(RefusedError, match=r"networkPolicy\.enabled, config\.facts\.nodes, config\.facts\.runtimeC"):
        rendered(values)


OF_CHART_ALONE = ("excludedNamespaces", "ignoreLabel", "namespaceSelector", "objectSelector", "matchConditions")
"""Values of `webhooks` that select what hooks and policies see, and that the settings do not hold."""


def with_policies(mode: str) -> dict[str, Any]:
    """The values of a mode with policies, and without those that select for the chart alone."""
    values: dict[str, Any] = yaml.safe_load((CHART / "ci" / f"{mode}-values.yaml").read_text()) or {}
    webhooks = values.get("webhooks", {})
    for section in (webhooks, webhooks.get("mutating", {}), webhooks.get("validating", {})):
        for key in OF_CHART_ALONE:
            section.pop(key, None)
    return values | {"policies": values.get("policies", {}) | {"enabled": True}}


def policies(values: Values) -> dict[tuple[str, str], Any]:
    """The specs of the rendered policies and bindings, by kind and name."""
    labelled = [one for one in objects(values) if one["metadata"].get("labels", {}).get(COMPONENT) == "policies"]
    found = [one for one in labelled if "AdmissionPolicy" in one["kind"]]
    return {(one["kind"], one["metadata"]["name"]): one["spec"] for one in found}


def exported(values: Values, folder: Path) -> dict[tuple[str, str], Any]:
    """The same of the policies that the program makes of the rendered settings."""
    held = read(settings_file(values), folder)
    installation = Installation(NAMESPACE, FULLNAME)
    checking, _ = made(held.settings, view(held), covered(held.settings.workloads), installation)
    injecting, _ = mutating(held.settings, view(held), installation)
    written = [policy.objects(FULLNAME) for policy in checking] + [policy.objects(FULLNAME) for policy in injecting]
    return {(one["kind"], one["metadata"]["name"]): one["spec"] for pair in written for one in pair}


@pytest.mark.parametrize("mode", MODES)
def test_chart_and_program_make_same_policies(mode: str, tmp_path: Path) -> None:
    values = with_policies(mode)
    assert policies(values) == exported(values, tmp_path)


def test_modes_make_every_policy() -> None:
    names = {name.removeprefix(f"{FULLNAME}-") for mode in MODES for _, name in policies(with_policies(mode))}
    assert {rule.code.lower() for rule in RULES} | {mutation.suffix for mutation in MUTATIONS} <= names
    assert {"gps001-warn", "gps001-audit"} <= names
