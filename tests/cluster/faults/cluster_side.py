"""Faults of the cluster around the plugin: runtime classes, Pod Security, quotas, templates of nodes, failed pods."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.faults.fault import event, phase, running
from tests.cluster.faults.site import Site, Trouble
from tests.cluster.harness.custom_kinds import open_kind
from tests.cluster.harness.hooks import namespace
from tests.cluster.harness.manifests import CLASSES, GPU, container, job, pod
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from tests.cluster.harness.api import Object

_GROUP = "cluster.x-k8s.io"
_CAPACITY = "capacity.cluster-autoscaler.kubernetes.io"
_MACHINES: Object = {
    "apiVersion": f"{_GROUP}/v1beta1",
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
_QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "gpus"},
    "spec": {"hard": {f"limits.{GPU}": "2"}},
}


@contextmanager
def space_of(site: Site, name: str, labels: dict[str, str]) -> Iterator[Workspace]:
    """A Kubernetes namespace with labels, whose pods are gone at the end."""
    with namespace(site.cluster, name, **labels):
        space = Workspace(site.cluster, name)
        try:
            yield space
        finally:
            space.kubectl("delete", "pods", "--all", "--wait=false")
            wait_for("the pods to be gone", lambda: not space.api.items(space.pods))


@contextmanager
def _handler_missing(site: Site) -> Iterator[None]:
    """A runtime class names a handler that containerd does not have."""
    legacy = {"metadata": {"name": "nvidia-legacy"}, "handler": "nvidia-legacy"}
    with site.cluster.api.created(CLASSES, legacy), space_of(site, "legacy", {}) as space:
        space.create(pod("main", runtimeClassName="nvidia-legacy"))
        wait_for("the event", lambda: event("FailedCreatePodSandBox", "no runtime for")(space))
        yield


@contextmanager
def _mount_forbidden(site: Site) -> Iterator[None]:
    """A namespace with GPU pods forbids hostPath volumes."""
    with space_of(site, "strict", {"pod-security.kubernetes.io/enforce": "baseline"}) as space:
        space.create(pod("main"))
        wait_for("the pod", lambda: running(space))
        yield


@contextmanager
def _pods_failed(site: Site) -> Iterator[None]:
    """The device plugin has rejected a pod of a Job."""
    site.team.create(job("two", container(gpus=2), backoffLimit=0))
    try:
        wait_for("the rejection", lambda: phase("Failed", "UnexpectedAdmissionError")(site.team))
        yield
    finally:
        site.team.kubectl("delete", "job", "two", "--cascade=foreground")


def _counts_nothing(site: Site) -> AbstractContextManager[Object]:
    """A quota names a key that never counts."""
    return site.cluster.api.created(f"/api/v1/namespaces/{site.team.name}/resourcequotas", _QUOTA)


@contextmanager
def _cards_in_template(site: Site) -> Iterator[None]:
    """A node group of Cluster API promises one card a node, and its nodes would offer ten replicas."""
    api = site.cluster.api
    with open_kind(api, _MACHINES["apiVersion"], _MACHINES["kind"], site.team.name) as path:
        api.create(path, _MACHINES)
        yield


TROUBLES = (
    Trouble("runtime-class-missing", "unready", lambda site: site.cluster.api.deleted(f"{CLASSES}/nvidia")),
    Trouble("runtime-handler-missing", "configured", _handler_missing),
    Trouble("pod-security-mount", "without-plugin", _mount_forbidden),
    Trouble("pods-failed", "unlabelled", _pods_failed),
    Trouble("template-counts-cards", "unlabelled", _cards_in_template),
    Trouble("quota-counts-nothing", "unlabelled", _counts_nothing, frozenset({"GPS032"})),
)
