"""A service account whose rights a test chooses and changes: those that facts need, one rule for each source."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

ACCOUNT = "webhook"
PLUGIN_NAMESPACE, PLUGIN = "nvidia-device-plugin", "plugin"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
_ROLES = f"{RBAC}/namespaces/{PLUGIN_NAMESPACE}/roles"
_CLUSTER_ROLES = f"{RBAC}/clusterroles"

CLUSTER_RULES: Mapping[str, Object] = {
    "nodes": {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]},
    "namespaces": {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"]},
    "runtimeclasses": {"apiGroups": ["node.k8s.io"], "resources": ["runtimeclasses"], "verbs": ["list", "watch"]},
    "deviceclasses": {"apiGroups": ["resource.k8s.io"], "resources": ["deviceclasses"], "verbs": ["list", "watch"]},
}
NAMESPACE_RULES: Mapping[str, Object] = {
    "configmaps": {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [PLUGIN],
        "verbs": ["get", "watch"],
    },
    "daemonsets": {
        "apiGroups": ["apps"],
        "resources": ["daemonsets"],
        "resourceNames": [PLUGIN],
        "verbs": ["get", "watch"],
    },
}
RULES: Mapping[str, Object] = {**CLUSTER_RULES, **NAMESPACE_RULES}


def create_caller(running: ControlPlaneOnly, name: str, rules: list[Object], namespace: str = "default") -> str:
    """Create a service account, and a ClusterRole of its name with these rules; returns a token of the account."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    metadata = {"metadata": {"name": name}}
    running.api.create(accounts, metadata)
    running.api.create(_CLUSTER_ROLES, {**metadata, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    running.api.create(f"{RBAC}/clusterrolebindings", {**metadata, "roleRef": role, "subjects": [subject]})
    asked = running.api.create(f"{accounts}/{name}/token", {"spec": {"expirationSeconds": 24 * 3600}})
    return str(asked["status"]["token"])


def create_account(running: ControlPlaneOnly) -> Path:
    """Create the account, the device plugin's namespace and all rights. Returns the account's kubeconfig."""
    api = running.api
    api.create("/api/v1/namespaces", {"metadata": {"name": PLUGIN_NAMESPACE}})
    token = create_caller(running, ACCOUNT, [])
    api.create(_ROLES, {"metadata": {"name": ACCOUNT}})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ACCOUNT}
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "default"}
    binding = {"metadata": {"name": ACCOUNT}, "roleRef": role, "subjects": [subject]}
    api.create(f"{RBAC}/namespaces/{PLUGIN_NAMESPACE}/rolebindings", binding)
    grant(running)
    return running.control.write_kubeconfig("account", token)


def grant(running: ControlPlaneOnly, *, without: tuple[str, str] | None = None) -> None:
    """Grant all rights, except one verb of one resource if given; wait until the API server applies them."""
    for path, rules in ((_CLUSTER_ROLES, CLUSTER_RULES), (_ROLES, NAMESPACE_RULES)):
        granted = [_remaining(rule, without) for rule in rules.values()]
        running.api.patch(f"{path}/{ACCOUNT}", {"rules": [rule for rule in granted if rule["verbs"]]})


def _remaining(rule: Object, without: tuple[str, str] | None) -> Object:
    rule = deepcopy(rule)
    if without is not None and rule["resources"] == [without[0]]:
        rule["verbs"].remove(without[1])
    return rule
