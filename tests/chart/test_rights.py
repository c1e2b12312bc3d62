"""The rights of the webhook's pods: exactly these, and no token if the webhook never calls the API server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chart.render import FULLNAME, MODES, NAMESPACE, Values, container, is_test, of_kind, only, pod_spec

pytestmark = pytest.mark.slow

Rule = tuple[str, str, str, str]
"""API group, resource, name ("" for every name), verb."""

CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
BUNDLES = {
    ("admissionregistration.k8s.io", resource, FULLNAME, verb)
    for resource in CONFIGURATIONS
    for verb in ("get", "watch", "patch")
}
CLASSES = {("node.k8s.io", "runtimeclasses", "", verb) for verb in ("get", "list", "watch")}
AUTHORITY = {
    *(("", "secrets", f"{FULLNAME}-ca", verb) for verb in ("get", "watch", "update")),
    ("", "secrets", "", "create"),
    ("apps", "deployments", FULLNAME, "get"),
}


def rules(manifests: list[dict[str, Any]]) -> set[Rule]:
    return {
        (group, resource, name, verb)
        for manifest in manifests
        if not is_test(manifest)
        for rule in manifest["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }


NO_FACTS = {"config": {"facts": {"runtimeClasses": False}}}


@pytest.mark.parametrize(
    ("values", "cluster", "own", "token"),
    [
        ("default", BUNDLES | CLASSES, AUTHORITY, True),
        (NO_FACTS, BUNDLES, AUTHORITY, True),
        ("existing-secret", CLASSES, set(), True),
        ("cert-manager-issuer", CLASSES, set(), True),
        ("cert-manager", set(), set(), False),
        ("small", set(), set(), False),
    ],
    ids=str,
)
def test_rights_of_each_mode(values: str | Values, cluster: set[Rule], own: set[Rule], token: bool) -> None:
    assert rules(of_kind("ClusterRole", values)) == cluster
    assert rules(of_kind("Role", values)) == own
    assert pod_spec(values)["automountServiceAccountToken"] is token


@pytest.mark.parametrize("mode", MODES)
def test_only_self_managed_mode_may_patch_configurations(mode: str) -> None:
    granted = rules([*of_kind("ClusterRole", mode), *of_kind("Role", mode)])
    of_configurations = {rule for rule in granted if rule[0] in ("admissionregistration.k8s.io", "*")}
    self_managed = "--tls-mode=self-managed" in container(mode)["args"]
    assert of_configurations == (BUNDLES if self_managed else set())


@pytest.mark.parametrize("mode", MODES)
def test_rights_are_bound_only_to_webhook_account(mode: str) -> None:
    account = {"kind": "ServiceAccount", "name": pod_spec(mode)["serviceAccountName"], "namespace": NAMESPACE}
    for kind in ("Role", "ClusterRole"):
        bindings = [one for one in of_kind(f"{kind}Binding", mode) if not is_test(one)]
        assert [one["subjects"] for one in bindings] == [[account]] * len(bindings)
        roles = [one["metadata"]["name"] for one in of_kind(kind, mode) if not is_test(one)]
        assert [one["roleRef"] for one in bindings] == [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name} for name in roles
        ]


@pytest.mark.parametrize(
    ("values", "there"),
    [
        ("default", False),
        ({"rbac": {"limitPatches": True}}, True),
        ({"rbac": {"limitPatches": True}, "tls": {"mode": "cert-manager"}}, False),
        ({"rbac": {"limitPatches": True, "create": False}}, True),
    ],
    ids=str,
)
def test_policy_limits_patches_of_webhook_account(values: str | Values, there: bool) -> None:
    policies = of_kind("ValidatingAdmissionPolicy", values)
    assert bool(policies) is bool(of_kind("ValidatingAdmissionPolicyBinding", values)) is there
    for policy in policies:
        (condition,) = policy["spec"]["matchConditions"]
        account = f"system:serviceaccount:{NAMESPACE}:{pod_spec(values)['serviceAccountName']}"
        assert condition["expression"] == f"request.userInfo.username == '{account}'"


def test_service_accounts_do_not_automount_tokens() -> None:
    for mode in MODES:
        for account in of_kind("ServiceAccount", mode):
            assert account["automountServiceAccountToken"] is False


def test_existing_account_and_disabled_rbac() -> None:
    assert of_kind("ServiceAccount", "small") == []
    assert pod_spec("small")["serviceAccountName"] == "shared"
    values = {"rbac": {"create": False}}
    assert [
        kind for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding") if of_kind(kind, values)
    ] == []
    assert only("ServiceAccount", values)["metadata"]["name"] == FULLNAME


def test_helm_test_rights_are_limited_to_its_namespace_and_run() -> None:
    (role,) = [one for one in of_kind("Role", "default") if is_test(one)]
    assert role["metadata"]["namespace"] == "default"
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}]
    assert [one for one in of_kind("ClusterRole", "default") if is_test(one)] == []
    policy = role["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
    assert policy == "before-hook-creation,hook-succeeded"
