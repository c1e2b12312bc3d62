"""KubeRay: the kinds of ray.io (ray-project/kuberay, `ray-operator/apis/ray/v1`)."""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath, Steps, at

_CLUSTER = "cluster"
_VERSIONS = ("v1", "v1alpha1")


def _workers(manifest: Members, path: Path) -> int | None:
    """The pods of a worker group: `replicas` times `numOfHosts`; an autoscaler that may add some makes it unknown."""
    group = at(manifest, path[:-1])
    replicas, hosts = at(group, ("replicas",)), at(group, ("numOfHosts",))
    return _whole(replicas) * _whole(hosts)


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 1


def _hides_shared_memory(manifest: Members, path: Path) -> bool:
    """Whether KubeRay mounts a memory volume at /dev/shm (`ray-operator/controllers/ray/common/pod.go`)."""
    return at(manifest, (*path[:-1], "rayStartParams", "plasma-directory")) is None


def _cluster(*below: str) -> tuple[PodPath, ...]:
    """The paths of a RayClusterSpec."""
    return (
        _path((*below, "headGroupSpec", "template")),
        PodPath(
            (*below, "workerGroupSpecs", EVERY, "template"),
            group=_CLUSTER,
            count=_workers,
            hides_shared_memory=_hides_shared_memory,
        ),
    )


def _path(steps: Steps) -> PodPath:
    return PodPath(steps, group=_CLUSTER, hides_shared_memory=_hides_shared_memory)


KINDS = (
    Kind("ray.io", "RayCluster", _cluster("spec"), "rayclusters", _VERSIONS),
    Kind(
        "ray.io",
        "RayJob",
        (*_cluster("spec", "rayClusterSpec"), PodPath(("spec", "submitterPodTemplate"))),
        "rayjobs",
        _VERSIONS,
    ),
    Kind("ray.io", "RayService", _cluster("spec", "rayClusterConfig"), "rayservices", _VERSIONS),
    Kind(
        "ray.io",
        "RayCronJob",
        (
            *_cluster("spec", "jobTemplate", "rayClusterSpec"),
            PodPath(("spec", "jobTemplate", "submitterPodTemplate")),
        ),
        "raycronjobs",
        suspended=(("spec", "jobTemplate", "suspend"),),
    ),
)
"""The kinds of the preset."""
