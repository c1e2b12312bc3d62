"""The pods that an object holds, and the groups in which they work together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from webhook.policy.pods.assembled import AssembledPod
from webhook.policy.pods.forms import BareResources
from webhook.policy.pods.pod import APP, Pod
from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.assembling import assembled
from webhook.policy.workloads.paths import Assembly, PodPath, Whole


class Deferral(Enum):
    """Why the nodes of a pod are chosen later. The value is the reason in reports."""

    SUSPENDED = "suspended: the nodes of its pods are chosen when it resumes"
    QUEUED = "queued: a queue chooses the nodes of its pods"
    USED_ELSEWHERE = "template: the object that uses it may choose the nodes of its pods"
    GATED = "gated: its nodes are chosen when its scheduling gates are removed"


class ExtractedPod:
    """A pod that an object holds. `raw` is the value at its path.

    `is_pod`: the object is a Pod, not a workload with a template. `deferral`: why the nodes of its pods are chosen
    later, if they are. `place` is the path of the kind, `manifest` the object. `group` holds the pods with which it
    works together, itself included; None if it works alone.
    """

    __slots__ = ("deferral", "group", "is_pod", "manifest", "path", "place", "pod", "raw")

    def __init__(
        self, path: Path, raw: Members, place: PodPath, manifest: Members, *, is_pod: bool, deferral: Deferral | None
    ) -> None:
        self.path = path
        self.raw = raw
        self.place = place
        self.manifest = manifest
        self.is_pod = is_pod
        self.deferral = deferral
        self.group: Group | None = None
        holds = place.holds
        self.pod = assembled(raw, path, holds, manifest) if isinstance(holds, Assembly) else _WHOLE[holds](raw, path)

    @property
    def count(self) -> int | None:
        """How many pods of its group are made from it; None if the object does not say."""
        return self.place.count(self.manifest, self.path)

    @property
    def hides_shared_memory(self) -> bool:
        """Whether the controller mounts a volume at `/dev/shm` into its first container."""
        return self.place.hides_shared_memory(self.manifest, self.path)


class Group:
    """Pods of an object that work together, in the order of their paths."""

    __slots__ = ("name", "pods")

    def __init__(self, name: str) -> None:
        self.name = name
        self.pods: list[ExtractedPod] = []


def assign_groups(pods: list[ExtractedPod]) -> None:
    """Give each pod the group of its path."""
    groups: dict[tuple[str, Path], Group] = {}
    for extracted in pods:
        place = extracted.place
        if place.group and place.works_together(extracted.manifest, extracted.path):
            key = place.group, extracted.path[: len(place.apart)]
            extracted.group = groups.setdefault(key, Group(place.group))
            extracted.group.pods.append(extracted)


def _of_resources(raw: Members, path: Path) -> Pod:
    return AssembledPod((BareResources(raw, path, None, APP),), (), path, is_container=True)


_WHOLE: Mapping[Whole, Callable[[Members, Path], Pod]] = {
    "template": Pod.of_template,
    "podSpec": Pod.of_spec,
    "container": Pod.of_container,
    "resources": _of_resources,
}
