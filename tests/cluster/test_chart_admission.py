"""The chart under limits of real API servers: limited priority classes, and installers without rights."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.helm import Helm
from tests.cluster.harness.hooks import namespace
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.release import CHART, NAME, RELEASE
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object

CRITICAL = ["system-node-critical", "system-cluster-critical"]
EXEMPT = ["gpu-operator", "nvidia-gpu-operator", "nvidia-device-plugin"]
DRY = ("install", RELEASE, str(CHART), "--dry-run=server")


@pytest.fixture(scope="module")
def running(needs_control_plane: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlaneOnly]:
    """A control plane that admits pods of the critical classes only where a quota counts them, as GKE does."""
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": CRITICAL}
    flag = _limited_to_quotas(tmp_path_factory.mktemp("admission"), scope)
    with control_plane(ControlPlaneOptions(api_server_flags=(flag,))) as started:
        yield started


def _limited_to_quotas(folder: Path, scope: Object) -> str:
    """The API server's flag for `limitedResources` (kubernetes.io, "Limit Priority Class consumption by default")."""
    head = {"apiVersion": "apiserver.config.k8s.io/v1"}
    limited = [{"resource": "pods", "matchScopes": [scope]}]
    quota = head | {"kind": "ResourceQuotaConfiguration", "limitedResources": limited}
    plugins = [{"name": "ResourceQuota", "configuration": quota}]
    file = folder / "admission.json"
    file.write_text(json.dumps(head | {"kind": "AdmissionConfiguration", "plugins": plugins}))
    return f"--admission-control-config-file={file}"


@contextmanager
def _installed(running: ControlPlaneOnly, name: str, *flags: str) -> Iterator[str]:
    """The chart in a namespace of its own, whose path this yields, without a node to run its pods."""
    helm = Helm(running, name)
    with namespace(running, name) as path:
        helm("install", RELEASE, str(CHART), *flags)
        try:
            yield path
        finally:
            helm("uninstall", RELEASE)


def test_limited_priority_class_is_rejected_without_quota(running: ControlPlaneOnly) -> None:
    with _installed(running, "refused", "--set=resourceQuota.enabled=false") as path:

        def refused() -> list[str]:
            events = running.api.items(f"{path}/events")
            return [one["message"] for one in events if one["reason"] == "FailedCreate"]

        (message, *_) = wait_for("the pods to be rejected", refused)
        assert "insufficient quota to match these scopes" in message
        assert running.api.items(f"{path}/pods") == []


def test_quota_of_chart_admits_limited_priority_class(running: ControlPlaneOnly) -> None:
    with _installed(running, "admitted") as path:
        wait_for("both replicas", lambda: len(running.api.items(f"{path}/pods")) == 2, seconds=90)
        counted = running.api.wait_for(
            f"{path}/resourcequotas/{NAME}",
            "to count them",
            lambda quota: quota.get("status", {}).get("used") == {"pods": "2"},
        )
        assert counted["status"]["hard"] == {"pods": "100"}
        other = {"metadata": {"name": "other"}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
        running.api.create(f"{path}/pods", other)
        running.kubectl("rollout", "restart", "--namespace=admitted", f"deployment/{NAME}")
        wait_for("the first pod of the update", lambda: len(running.api.items(f"{path}/pods")) == 4)


def test_notes_name_missing_exempt_namespaces(running: ControlPlaneOnly) -> None:
    helm = Helm(running, "gpu-admission")
    with namespace(running, EXEMPT[0]):
        said = helm(*DRY)
        assert f"WARNING: these exempt namespaces do not exist, so users who may create namespaces {_BYPASS}" in said
        assert f"{EXEMPT[1]}, {EXEMPT[2]}. Create them" in said
        with namespace(running, EXEMPT[1]), namespace(running, EXEMPT[2]):
            assert "WARNING" not in helm(*DRY)
        there = f"--set-json=config.exempt.namespaces={json.dumps(['kube-system', EXEMPT[0]])}"
        assert "WARNING" not in helm(*DRY, there)
    assert "WARNING" not in helm("install", RELEASE, str(CHART), "--dry-run=client")


_BYPASS = "can create them and bypass the webhook: "


@contextmanager
def _installer(running: ControlPlaneOnly) -> Iterator[tuple[str, ...]]:
    """Helm's flags for a user who may do all but read namespaces."""
    kinds = ["secrets", "configmaps", "services", "serviceaccounts", "resourcequotas", "pods"]
    groups = ["apps", "policy", "node.k8s.io", "rbac.authorization.k8s.io", "admissionregistration.k8s.io"]
    every = {"resources": ["*"], "verbs": ["*"]}
    rules = [{"apiGroups": [""], "resources": kinds, "verbs": ["*"]}, {"apiGroups": groups} | every]
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    metadata = {"name": "installer"}
    running.api.create(f"{rbac}/clusterroles", {"metadata": metadata, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "installer"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "installer"}
    binding = {"metadata": metadata, "roleRef": role, "subjects": [subject]}
    running.api.create(f"{rbac}/clusterrolebindings", binding)
    try:
        yield ("--kube-as-user=installer",)
    finally:
        running.api.delete(f"{rbac}/clusterrolebindings/installer")
        running.api.delete(f"{rbac}/clusterroles/installer")


def test_installer_without_right_to_get_namespaces(running: ControlPlaneOnly) -> None:
    """Helm cannot catch a forbidden lookup, so the message names the value that switches it off."""
    helm = Helm(running, "limited")
    with _installer(running) as flags, namespace(running, "limited") as path:
        with pytest.raises(RuntimeError) as refused:
            helm("install", RELEASE, str(CHART), *flags)
        assert 'cannot get resource "namespaces"' in str(refused.value)
        assert "needs the right to get namespaces, or checkNamespaces=false" in str(refused.value)
        assert running.api.items(f"{path}/services") == []
        said = helm("install", RELEASE, str(CHART), *flags, "--set=checkNamespaces=false")
        assert "is installed as" in said
        assert "WARNING" not in said
        helm("uninstall", RELEASE, *flags)
