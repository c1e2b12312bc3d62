"""The rights of the webhook's pods: exactly these, and no token if the webhook never calls the API server."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from charts.rights import READ
from tests.chart.render import (
    FULLNAME,
    NAMESPACE,
    Values,
    is_test,
    of_kind,
    pod_spec,
    rendered,
)

pytestmark = pytest.mark.slow

Rule = tuple[str, str, str, str]
"""API group, resource, name ("" for every name), verb."""

CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
BUNDLES = {
    ("admissionregistration.k8s.io", resource, FULLNAME, verb)
    for resource in CONFIGURATIONS
    for verb in ("get", "watch", "patch")
}
SOURCES = {
    "nodes": {("", "nodes", "", verb) for verb in ("list", "watch")},
    "namespaces": {("", "namespaces", "", verb) for verb in ("list", "watch")},
    "runtimeClasses": {("node.k8s.io", "runtimeclasses", "", verb) for verb in ("get", "list", "watch")},
    "deviceClasses": {("resource.k8s.io", "deviceclasses", "", verb) for verb in ("list", "watch")},
}
CAP = ("", "serviceaccounts", f"{FULLNAME}-mode")
SETTINGS = {(*one, verb) for one in (("", "configmaps", FULLNAME), CAP) for verb in ("get", "watch")}
SETTINGS |= {("", "events", "", "create")}
"""The rights to follow the webhook's own ConfigMap, and to say that it is refused, where pods call the API server."""
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


def of_webhook(kind: str, values: str | Values) -> list[dict[str, Any]]:
    """The roles of a kind without those of commands, which people bind."""
    of_commands = {f"{FULLNAME}-{command}" for command in READ}
    return [one for one in of_kind(kind, values) if one["metadata"]["name"] not in of_commands]


def named(resource: str, *names: str) -> set[Rule]:
    """The rights to read objects of the device plugin by name."""
    group = {"configmaps": "", "daemonsets": "apps"}[resource]
    return {(group, resource, name, verb) for name in names for verb in ("get", "watch")}


NO_PRESETS: Values = {"presets": []}
"""Entries of presets take half of the time to render the chart, and need no rights. Values of `MODES` have presets."""

SUBSETS = [dict(zip(SOURCES, chosen, strict=True)) for chosen in itertools.product([False, True], repeat=len(SOURCES))]
PLUGINS: dict[str, tuple[Any, dict[str, set[Rule]]]] = {
    "none": (None, {}),
    "a shorthand": ("plugin/configs", {"plugin": named("configmaps", "configs")}),
    "only a version": ({"version": "v0.20.0"}, {}),
    "only a DaemonSet": ({"daemonSet": "plugin/ds"}, {"plugin": named("daemonsets", "ds")}),
    "the webhook's own namespace": (f"{NAMESPACE}/configs", {NAMESPACE: named("configmaps", "configs")}),
    "several namespaces": (
        {"configMaps": ["b/two", "a/one", "b/three", "b/two"], "daemonSet": "a/ds"},
        {
            "a": named("configmaps", "one") | named("daemonsets", "ds"),
            "b": named("configmaps", "two", "three"),
        },
    ),
    "a namespace with only the DaemonSet": (
        {"configMaps": ["a/one"], "daemonSet": "b/ds", "version": None},
        {"a": named("configmaps", "one"), "b": named("daemonsets", "ds")},
    ),
}


@pytest.mark.parametrize(
    ("plugin", "mode"),
    [
        *((plugin, "cert-manager") for plugin in PLUGINS),
        ("none", "self-managed"),
        ("several namespaces", "self-managed"),
    ],
)
def test_rights_are_exactly_those_of_the_sources(plugin: str, mode: str) -> None:
    source, by_namespace = PLUGINS[plugin]
    bundles, own = (BUNDLES, AUTHORITY) if mode == "self-managed" else (set(), set())
    for subset in SUBSETS if plugin == "none" else (SUBSETS[0], SUBSETS[-1]):
        facts = {**subset, **({} if source is None else {"devicePlugin": source})}
        values = {"tls": {"mode": mode}, "config": {"facts": facts, "workloads": NO_PRESETS}}
        cluster = set().union(*(SOURCES[name] for name, on in subset.items() if on))
        assert rules(of_kind("ClusterRole", values)) == bundles | cluster
        assert bool(of_kind("ClusterRoleBinding", values)) is bool(bundles | cluster)
        roles = [role for role in of_kind("Role", values) if not is_test(role)]
        followed = SETTINGS if bundles | cluster or by_namespace else set()
        for space in {role["metadata"]["namespace"] for role in roles} | by_namespace.keys() | {NAMESPACE}:
            expected = by_namespace.get(space, set()) | (own | followed if space == NAMESPACE else set())
            assert rules([role for role in roles if role["metadata"]["namespace"] == space]) == expected
        assert_bound_to_webhook_account(values)
        needs = bundles | cluster or by_namespace
        assert pod_spec(values)["automountServiceAccountToken"] is bool(needs)


def test_every_rule_says_what_reads_it() -> None:
    text = rendered("mixed-cluster") + rendered({"config": {"facts": dict.fromkeys(SOURCES, True)}})
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("  - apiGroups: ") and "-test" not in line]
    assert len(starts) > 10
    unexplained = [lines[number + 1] for number in starts if not lines[number - 1].startswith("  # ")]
    of_helm_test = ("    resources: [pods]", "    resources: [namespaces]")
    assert [line for line in unexplained if line not in of_helm_test] == []


def assert_bound_to_webhook_account(values: str | Values) -> None:
    account = {"kind": "ServiceAccount", "name": pod_spec(values)["serviceAccountName"], "namespace": NAMESPACE}
    for kind in ("Role", "ClusterRole"):
        bindings = [one for one in of_kind(f"{kind}Binding", values) if not is_test(one)]
        assert [one["subjects"] for one in bindings] == [[account]] * len(bindings)
        roles = [one["metadata"] for one in of_webhook(kind, values) if not is_test(one)]
        assert [(one["metadata"].get("namespace"), one["roleRef"]) for one in bindings] == [
            (role.get("namespace"), {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role["name"]})
            for role in roles
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
    policies, bindings = (
        [one for one in of_kind(f"ValidatingAdmissionPolicy{end}", values) if one["metadata"]["name"] == FULLNAME]
        for end in ("", "Binding")
    )
    assert bool(policies) is bool(bindings) is there
    for policy in policies:
        (condition,) = policy["spec"]["matchConditions"]
        account = f"system:serviceaccount:{NAMESPACE}:{pod_spec(values)['serviceAccountName']}"
        assert condition["expression"] == f"request.userInfo.username == '{account}'"


def test_existing_account_and_disabled_rbac() -> None:
    assert [one["metadata"]["name"] for one in of_kind("ServiceAccount", "small")] == [f"{FULLNAME}-mode"]
    assert pod_spec("small")["serviceAccountName"] == "shared"
    facts = {**dict.fromkeys(SOURCES, True), "devicePlugin": "a/b"}
    values = {"rbac": {"create": False}, "config": {"facts": facts}}
    assert [
        kind for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding") if of_kind(kind, values)
    ] == []
    accounts = {one["metadata"]["name"] for one in of_kind("ServiceAccount", values)}
    assert accounts == {FULLNAME, f"{FULLNAME}-mode"}


def test_command_roles_are_opt_in() -> None:
    assert not [role for role in of_kind("ClusterRole", {}) if role["metadata"]["name"] != FULLNAME]


@pytest.mark.parametrize("command", READ)
def test_command_role_holds_what_command_reads(command: str) -> None:
    roles = of_kind("ClusterRole", {"rbac": {"commandRoles": True}})
    (role,) = [one for one in roles if one["metadata"]["name"] == f"{FULLNAME}-{command}"]
    # Objects name them, so that no role may list them.
    single = {"configmaps", "pods/log"}
    wanted = {(kind.group, kind.plural, "", "get") for kind in READ[command]}
    wanted |= {(kind.group, kind.plural, "", "list") for kind in READ[command] if kind.plural not in single}
    assert rules([role]) == wanted | {("", "configmaps", FULLNAME, "get")}
