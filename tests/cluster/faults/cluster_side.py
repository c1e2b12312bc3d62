"""Faults of the cluster around the plugin: runtime classes, Pod Security, quotas, templates of nodes, failed pods."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.faults.fault import event, phase, running
from tests.cluster.faults.site import Site, Trouble
from tests.cluster.faults.stack import RUNTIME_CLASSES
from tests.cluster.harness.api import ApiError
from tests.cluster.harness.hooks import namespace
from tests.cluster.harness.manifests import GPU, container, pod, pod_spec
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Api, Object

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_GROUP, _VERSION = "cluster.x-k8s.io", "v1beta1"
_CAPACITY = "capacity.cluster-autoscaler.kubernetes.io"
_DEFINITION: Object = {
    "metadata": {"name": f"machinedeployments.{_GROUP}"},
    "spec": {
        "group": _GROUP,
        "scope": "Namespaced",
        "names": {"plural": "machinedeployments", "kind": "MachineDeployment", "listKind": "MachineDeploymentList"},
        "versions": [
            {
                "name": _VERSION,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
_MACHINES = {
    "apiVersion": f"{_GROUP}/{_VERSION}",
    "kind": "MachineDeployment",
    "metadata": {
        "name": "a100",
        "annotations": {
            f"{_GROUP}/cluster-api-autoscaler-node-group-min-size": "0",
            f"{_GROUP}/cluster-api-autoscaler-node-group-max-size": "4",
            f"{_CAPACITY}/cpu": "16",
            f"{_CAPACITY}/memory": "128Gi",
            f"{_CAPACITY}/gpu-type": GPU,
            f"{_CAPACITY}/gpu-count": "1",
            f"{_CAPACITY}/labels": "nvidia.com/gpu.present=true,nvidia.com/mps.capable=true",
        },
    },
    "spec": {"clusterName": "main", "replicas": 1},
}
_TWO = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "two"},
    "spec": {"backoffLimit": 0, "template": {"spec": pod_spec(container(gpus=2), restartPolicy="Never")}},
}
_QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "gpus"},
    "spec": {"hard": {f"limits.{GPU}": "2"}},
}


@contextmanager
def _class_missing(site: Site) -> Iterator[None]:
    """The runtime class that the webhook injects does not exist."""
    path = f"{RUNTIME_CLASSES}/nvidia"
    site.cluster.api.delete(path)
    try:
        yield
    finally:
        site.cluster.api.create(RUNTIME_CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"})


@contextmanager
def space_of(site: Site, name: str, labels: dict[str, str]) -> Iterator[Workspace]:
    """A Kubernetes namespace with labels, whose pods are gone at the end."""
    with namespace(site.cluster, name, **labels):
        space = Workspace(site.cluster, name)
        try:
            yield space
        finally:
            space.kubectl("delete", "pods", "--all", "--wait=false")
            wait_for("the pods to be gone", lambda: not space.api.items(space.pods), seconds=60)


@contextmanager
def _handler_missing(site: Site) -> Iterator[None]:
    """A runtime class names a handler that containerd does not have."""
    site.cluster.api.create(RUNTIME_CLASSES, {"metadata": {"name": "nvidia-legacy"}, "handler": "nvidia-legacy"})
    try:
        with space_of(site, "legacy", {}) as space:
            space.create(pod("main", runtimeClassName="nvidia-legacy"))
            wait_for("the event", lambda: event("FailedCreatePodSandBox", "no runtime for")(space), seconds=60)
            yield
    finally:
        site.cluster.api.delete(f"{RUNTIME_CLASSES}/nvidia-legacy")


@contextmanager
def _mount_forbidden(site: Site) -> Iterator[None]:
    """A namespace with GPU pods forbids hostPath volumes."""
    with space_of(site, "strict", {"pod-security.kubernetes.io/enforce": "baseline"}) as space:
        space.create(pod("main"))
        wait_for("the pod", lambda: running(space), seconds=60)
        yield


@contextmanager
def _pods_failed(site: Site) -> Iterator[None]:
    """The device plugin has rejected a pod of a Job."""
    site.team.create(_TWO)
    try:
        wait_for("the rejection", lambda: phase("Failed", "UnexpectedAdmissionError")(site.team), seconds=60)
        yield
    finally:
        site.team.kubectl("delete", "job", "two", "--cascade=foreground")


@contextmanager
def _counts_nothing(site: Site) -> Iterator[None]:
    """A quota names a key that never counts."""
    site.team.create(_QUOTA)
    try:
        yield
    finally:
        site.team.kubectl("delete", "resourcequota", "gpus")


def _is_served(api: Api, collection: str) -> bool:
    """Whether the API server answers for a new kind, whose storage it first initializes (429)."""
    try:
        return api.find(collection) is not None
    except ApiError:
        return False


@contextmanager
def _cards_in_template(site: Site) -> Iterator[None]:
    """A node group of Cluster API promises one card a node, and its nodes would offer ten replicas."""
    api = site.cluster.api
    api.create(_CRDS, _DEFINITION)
    try:
        collection = f"/apis/{_GROUP}/{_VERSION}/namespaces/{site.team.name}/machinedeployments"
        wait_for("the kind to be served", lambda: _is_served(api, collection))
        api.create(collection, _MACHINES)
        yield
    finally:
        api.delete(f"{_CRDS}/{_DEFINITION['metadata']['name']}")


TROUBLES = (
    Trouble("runtime-class-missing", "unready", _class_missing),
    Trouble("runtime-handler-missing", "configured", _handler_missing),
    Trouble("pod-security-mount", "without-plugin", _mount_forbidden),
    Trouble("pods-failed", "unlabelled", _pods_failed),
    Trouble("template-counts-cards", "unlabelled", _cards_in_template),
    Trouble("quota-counts-nothing", "unlabelled", _counts_nothing, frozenset({"GPS032"})),
)
