"""A pod that a controller assembles: its containers, and the fields of its spec, stand in fields of a custom kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.policy.pods.pod import Container, Pod
from webhook.policy.pods.reading import NOTHING, Members
from webhook.policy.verdict import Path

_FIELDS = frozenset(
    {
        *("affinity", "hostIPC", "hostPID", "hostUsers", "nodeName", "nodeSelector", "os", "runtimeClassName"),
        *("schedulingGates", "terminationGracePeriodSeconds", "tolerations", "volumes"),
    }
)
"""The fields of a pod's spec that checks read, and that custom kinds hold under the same name and with one meaning."""


class AssembledPod(Pod):
    """A pod of these containers, with the fields of these mappings, of which a later one replaces an earlier one.

    `places` are the mappings with their paths. Without any, nothing but the containers is known of the pod.
    """

    __slots__ = ()

    def __init__(self, containers: tuple[Container, ...], places: Sequence[tuple[Path, Members]], path: Path) -> None:
        spec = {key: value for _, held in places for key, value in held.items() if key in _FIELDS}
        where = places[-1][0] if places else path
        super().__init__(NOTHING, spec, where, where)
        self.is_editable = False
        self.is_container = not places
        self.containers = containers
        self.may_lack_paths = len(places) > 1

    def every_container(self) -> Iterator[Container]:
        """All init containers, sidecars and app containers, in their order."""
        return iter(self.containers)

    def mounting(self, folder: str) -> Iterator[Container]:
        """The containers with a mount path that contains the text."""
        for container in self.containers:
            if container.raw.get("volumeMounts") and any(folder in path for path in container.mounts):
                yield container
