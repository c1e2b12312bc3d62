"""A service account whose rights a test chooses and changes: those that facts need, one rule for each source."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from tests.cluster.harness.credentials import write_kubeconfig

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

ACCOUNT = "webhook"
PLUGIN_NAMESPACE, PLUGIN = "nvidia-device-plugin", "plugin"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_ROLES = f"{_RBAC}/namespaces/{PLUGIN_NAMESPACE}/roles"
_CLUSTER_ROLES = f"{_RBAC}/clusterroles"

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


def create_account(running: ControlPlaneOnly) -> Path:
    """Create the account, the device plugin's namespace and all rights. Returns the account's kubeconfig."""
    api = running.api
    api.create("/api/v1/namespaces", {"metadata": {"name": PLUGIN_NAMESPACE}})
    api.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": ACCOUNT}})
    api.create(_CLUSTER_ROLES, {"metadata": {"name": ACCOUNT}})
    api.create(_ROLES, {"metadata": {"name": ACCOUNT}})
    subjects = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "default"}]
    for kind, bindings in (
        ("ClusterRole", f"{_RBAC}/clusterrolebindings"),
        ("Role", f"{_RBAC}/namespaces/{PLUGIN_NAMESPACE}/rolebindings"),
    ):
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": ACCOUNT}
        api.create(bindings, {"metadata": {"name": ACCOUNT}, "roleRef": role, "subjects": subjects})
    grant(running)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = api.create(f"/api/v1/namespaces/default/serviceaccounts/{ACCOUNT}/token", asked)["status"]["token"]
    control = running.control
    return write_kubeconfig(control.folder / "account.kubeconfig", control.server, control.authority, token)


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
