"""KubeRay: the kinds of ray.io (ray-project/kuberay, `ray-operator/apis/ray/v1`)."""

from __future__ import annotations

from dataclasses import replace

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath, at, one, product, stated

_GROUP, _CLUSTER = "ray.io", "cluster"


def _workers(manifest: Members, path: Path) -> int | None:
    """The pods of a worker group: `replicas` within their bounds, times `numOfHosts`.

    An autoscaler changes `replicas`, so that with `enableInTreeAutoscaling` only equal bounds make the count known
    (v1.7, `ray-operator/controllers/ray/utils/util.go`; `numOfHosts` since v1.1).
    """
    cluster, group = at(manifest, path[:-3]), at(manifest, path[:-1])
    if at(group, ("suspend",)) is True:
        return 0
    least, most = stated(at(group, ("minReplicas",)), 0), stated(at(group, ("maxReplicas",)), _UNBOUNDED)
    replicas = stated(at(group, ("replicas",)), 0)
    if least is None or most is None or replicas is None:
        return None
    if at(cluster, ("enableInTreeAutoscaling",)) is True and least != most:
        return None
    return product(min(max(replicas, least), most), stated(at(group, ("numOfHosts",)), 1))


_UNBOUNDED = 2**31 - 1


def _hides_shared_memory(manifest: Members, path: Path) -> bool:
    """Whether KubeRay mounts a volume in memory at `/dev/shm`, unless the container mounts one there itself.

    It does so for heads and workers without `plasma-directory` among their `rayStartParams`; up to v1.5 for all
    (`ray-operator/controllers/ray/common/pod.go`; ray-project/kuberay#4524).
    """
    return at(manifest, (*path[:-1], "rayStartParams", "plasma-directory")) is None


def cluster(*spec: str) -> tuple[PodPath, ...]:
    """The paths of a RayClusterSpec."""
    return tuple(
        PodPath((*spec, *below), group=_CLUSTER, count=count, hides_shared_memory=_hides_shared_memory)
        for below, count in ((("headGroupSpec", "template"), one), (("workerGroupSpecs", EVERY, "template"), _workers))
    )


def _job(*spec: str) -> tuple[PodPath, ...]:
    """The paths of a RayJobSpec. The pod that submits the job is not part of the cluster."""
    return (*cluster(*spec, "rayClusterSpec"), PodPath((*spec, "submitterPodTemplate"), count=one))


def _kind(kind: str, paths: tuple[PodPath, ...], *holder: str) -> Kind:
    """A kind that the member `suspend` of a holder suspends."""
    return Kind(_GROUP, kind, paths, ("v1", "v1alpha1"), suspended=((*holder, "suspend"),))


KINDS = (
    _kind("RayCluster", cluster("spec"), "spec"),
    _kind("RayJob", _job("spec"), "spec"),
    # Kueue suspends the cluster of a RayService, which has no `suspend` of its own in v1.7.
    _kind("RayService", cluster("spec", "rayClusterConfig"), "spec", "rayClusterConfig"),
    # The `suspend` of a RayCronJob itself only stops its schedule, and its jobs do not get its labels.
    replace(_kind("RayCronJob", _job("spec", "jobTemplate"), "spec", "jobTemplate"), versions=("v1",), labels=None),
)
"""The kinds of the preset; RayCronJob exists since v1.6."""
