"""What a tenant's rights allow, and who may call an object a mirror pod: the chart's hooks on a real API server.

The tenant is a service account with the role `admin` of Kubernetes in one namespace.
`docs/explanation/bypass.md` lists each attempt with its result.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.chart.render import FULLNAME
from tests.cluster.harness.api import ApiError
from tests.cluster.harness.chart_hooks import TWO, chart_hooks
from tests.cluster.harness.hooks import MUTATING, VALIDATING, namespace
from tests.cluster.harness.manifests import container, pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Api, Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

TEAM = "/api/v1/namespaces/team"
OPERATOR = "gpu-operator"
"""A name that the default settings exempt."""
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NODE = "shared-1"
MIRROR = {"kubernetes.io/config.mirror": "0123456789abcdef"}
TWO_GPUS = pod("two", container(gpus=2))


@pytest.fixture(scope="module", autouse=True)
def _hooks(running: ControlPlaneOnly) -> Iterator[None]:
    with namespace(running, "team"), chart_hooks(running):
        yield


@pytest.fixture(scope="module")
def tenant(running: ControlPlaneOnly) -> Api:
    """The API server as a tenant: the role `admin` in the namespace `team`."""
    running.api.create(f"{TEAM}/serviceaccounts", {"metadata": {"name": "tenant"}})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    subject = {"kind": "ServiceAccount", "name": "tenant", "namespace": "team"}
    binding = {"metadata": {"name": "tenant"}, "roleRef": role, "subjects": [subject]}
    running.api.create(f"{RBAC}/namespaces/team/rolebindings", binding)
    return running.control.api_as(running.kubectl("create", "token", "tenant", "--namespace=team").strip())


def test_tenant_pod_over_limit_is_rejected(tenant: Api) -> None:
    with pytest.raises(ApiError) as rejected:
        tenant.create(f"{TEAM}/pods", TWO_GPUS)
    assert TWO in rejected.value.message
    assert tenant.create(f"{TEAM}/pods?dryRun=All", pod("one"))["kind"] == "Pod"


IGNORED = {"metadata": {"labels": {"gpushare-webhook/ignore": "true"}}}
WEBHOOK = {"metadata": {"name": "own"}, "webhooks": []}
ATTEMPTS: dict[str, tuple[str, str, Object | None]] = {
    "create a namespace with an exempt name": (
        "POST",
        "/api/v1/namespaces",
        {"metadata": {"name": OPERATOR}},
    ),
    "label the own namespace": ("PATCH", TEAM, IGNORED),
    "create a pod in kube-system": ("POST", "/api/v1/namespaces/kube-system/pods", TWO_GPUS),
    "delete the mutating configuration": ("DELETE", f"{MUTATING}/{FULLNAME}", None),
    "delete the validating configuration": ("DELETE", f"{VALIDATING}/{FULLNAME}", None),
    "change the validating configuration": ("PATCH", f"{VALIDATING}/{FULLNAME}", {"webhooks": None}),
    "create a mutating configuration": ("POST", MUTATING, WEBHOOK),
    "read Secrets of another namespace": ("GET", "/api/v1/namespaces/kube-system/secrets", None),
    "change a Service of another namespace": ("POST", "/api/v1/namespaces/kube-system/services", WEBHOOK),
    "label a node": ("PATCH", f"/api/v1/nodes/{NODE}", IGNORED),
    "create a runtime class": ("POST", "/apis/node.k8s.io/v1/runtimeclasses", {"metadata": {"name": "own"}}),
    "create a custom kind": ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WEBHOOK),
    "grant itself cluster rights": ("POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": "own"}}),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_tenant_is_forbidden_to(running: ControlPlaneOnly, tenant: Api, attempt: str) -> None:
    method, path, body = ATTEMPTS[attempt]
    content = "merge-patch+json" if method == "PATCH" else "json"
    code, _, answer = tenant.request(method, path, body, content=content)
    assert code == 403
    assert b"cannot " in answer, "rights forbid it, not the webhook"


def _impersonate(api: Api, user: str, group: str, path: str, body: Object) -> Object:
    """Create an object as another user. Raises ApiError."""
    return api.send("POST", path, json.dumps(body), {"Impersonate-User": user, "Impersonate-Group": group})


def test_tenant_cannot_impersonate_node(tenant: Api) -> None:
    with pytest.raises(ApiError, match="cannot impersonate"):
        _impersonate(tenant, f"system:node:{NODE}", "system:nodes", f"{TEAM}/pods", TWO_GPUS)


def test_mirror_pod_of_tenant_is_rejected(tenant: Api) -> None:
    mirror = {**TWO_GPUS, "metadata": {"name": "two", "annotations": MIRROR}}
    with pytest.raises(ApiError) as rejected:
        tenant.create(f"{TEAM}/pods", mirror)
    assert TWO in rejected.value.message


def test_mirror_pod_of_node_passes(running: ControlPlaneOnly) -> None:
    """The kubelet runs a static pod whatever the API server says about its mirror."""
    node = running.api.create("/api/v1/nodes", {"metadata": {"name": NODE}})
    owner = {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": node["metadata"]["uid"], "controller": True}
    mirror = pod("static", container(gpus=2), nodeName=NODE, tolerations=[{"operator": "Exists"}])
    mirror["metadata"] |= {"annotations": MIRROR, "ownerReferences": [owner]}
    try:
        path = f"{TEAM}/pods?dryRun=All"
        assert _impersonate(running.api, f"system:node:{NODE}", "system:nodes", path, mirror)["kind"] == "Pod"
    finally:
        running.api.delete(f"/api/v1/nodes/{NODE}")


def test_new_namespace_of_exempt_name_is_not_checked(running: ControlPlaneOnly) -> None:
    with namespace(running, OPERATOR) as path:
        assert running.api.create(f"{path}/pods?dryRun=All", TWO_GPUS)["kind"] == "Pod"


NAME = "kubernetes.io/metadata.name"


def test_label_cannot_give_namespace_exempt_name(running: ControlPlaneOnly) -> None:
    """The API server writes this label itself, so even a user who may label namespaces cannot change it."""
    with namespace(running, "renamed", **{NAME: OPERATOR}) as path:
        assert running.api.get(path)["metadata"]["labels"][NAME] == "renamed"
        running.api.request("PATCH", path, {"metadata": {"labels": {NAME: OPERATOR}}}, content="merge-patch+json")
        assert running.api.get(path)["metadata"]["labels"][NAME] == "renamed"
        with pytest.raises(ApiError, match="GPS001"):
            running.api.create(f"{path}/pods", TWO_GPUS)


LABELS = {
    "ignored": {"gpushare-webhook/ignore": "true"},
    "restricted": {"pod-security.kubernetes.io/enforce": "restricted"},
    "ignored-by-others": {"control-plane": "true", "admission.gatekeeper.sh/ignore": "true"},
}


@pytest.mark.parametrize("name", LABELS)
def test_label_of_namespace_exempts_nothing_by_default(running: ControlPlaneOnly, name: str) -> None:
    with namespace(running, name, **LABELS[name]) as path, pytest.raises(ApiError, match="GPS001"):
        running.api.create(f"{path}/pods", TWO_GPUS)
