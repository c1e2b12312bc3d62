"""From a pod to the topmost object that controls it, such as from a pod over its ReplicaSet to the Deployment."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.cluster.objects import JOB, REPLICA_SET, Kind, Objects, all_of
from webhook.cluster.reading import Owner, controller
from webhook.diagnose.pods import LivePod
from webhook.diagnose.shapes import OWNED

_BETWEEN: Mapping[str, Kind] = {"ReplicaSet": REPLICA_SET, "Job": JOB}
"""The kinds that another object may control, and which the API server lists without a definition of their own."""


class Owners:
    """The controllers of ReplicaSets and Jobs, by namespace and name."""

    def __init__(self, above: Mapping[tuple[str, Owner], Owner]) -> None:
        self._above = above

    @classmethod
    async def read(cls, objects: Objects, namespace: str | None) -> Owners:
        """Read the controllers, page by page. Where they cannot be read, a pod's own controller is the topmost."""
        above = {}
        for name, kind in _BETWEEN.items():
            async for one in all_of(objects, kind, namespace, OWNED):
                metadata = one["metadata"]
                if (owner := controller(metadata)) is not None:
                    above[metadata.get("namespace", ""), Owner(name, metadata["name"])] = owner
        return cls(above)

    def top(self, pod: LivePod) -> Owner:
        """The topmost known owner of a pod."""
        return self.above(pod.namespace, pod.owner)

    def above(self, namespace: str, owner: Owner) -> Owner:
        """What controls an owner of pods; itself if nothing does, or that is not known."""
        return self._above.get((namespace, owner), owner)
