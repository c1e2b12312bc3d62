"""Faults of the cluster around the plugin: runtime classes, quotas, failed pods."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.faults.fault import event, phase
from tests.cluster.faults.site import Site, Trouble
from tests.cluster.harness.hooks import namespace
from tests.cluster.harness.manifests import CLASSES, GPU, container, job, pod
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from tests.cluster.harness.api import Object

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


TROUBLES = (
    Trouble("runtime-class-missing", "unready", lambda site: site.cluster.api.deleted(f"{CLASSES}/nvidia")),
    Trouble("runtime-handler-missing", "configured", _handler_missing),
    Trouble("pods-failed", "unlabelled", _pods_failed),
    Trouble("quota-counts-nothing", "unlabelled", _counts_nothing, frozenset({"GPS032"})),
)
