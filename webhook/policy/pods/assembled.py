"""A pod that a controller assembles: its containers, and the fields of its spec, stand in fields of a custom kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.policy.pods.pod import Container, Pod, mounts_below
from webhook.policy.pods.reading import NOTHING, Members, elements, members, text
from webhook.policy.verdict import Path

Place = tuple[Path, Members]
"""A mapping, and the path to it."""

FIELDS = (
    *("affinity", "hostIPC", "hostPID", "hostUsers", "nodeName", "nodeSelector", "os", "runtimeClassName"),
    *("schedulingGates", "securityContext", "terminationGracePeriodSeconds", "tolerations", "volumes"),
)
"""The fields of a pod's spec that checks read, and that custom kinds hold under the same name and with one meaning."""

_UNSET: tuple[object, ...] = (None, {}, [])


class AssembledPod(Pod):
    """A pod of these containers, with the fields of these mappings, of which a later one replaces an earlier one.

    `places` are the mappings with their paths, `path` is that of the pod. An empty field replaces none.
    """

    __slots__ = ("_places",)

    def __init__(
        self, containers: tuple[Container, ...], places: Sequence[Place], path: Path, *, is_container: bool
    ) -> None:
        spec: Members = {}
        self._places: dict[str, Path] = {}
        for place, held in places:
            for field in FIELDS:
                if field in held and held[field] not in _UNSET:
                    spec[field], self._places[field] = held[field], place
        where = places[-1][0] if places else path
        super().__init__(NOTHING, spec, where, where)
        self.is_editable = False
        self.is_container = is_container
        self.holds_spec = [place for place, _ in places] == [path]
        self.containers = containers

    def path_of(self, field: str) -> Path:
        """The path to a field of the spec, in the mapping that holds it."""
        return (*self._places.get(field, self.spec_path), field)

    def members(self, field: str) -> Members:
        return members(self.spec, field, self.path_of(field)[:-1])

    def elements(self, field: str) -> list[Members]:
        return elements(self.spec, field, self.path_of(field)[:-1])

    def text(self, field: str) -> str:
        return text(self.spec, field, self.path_of(field)[:-1])

    def every_container(self) -> Iterator[Container]:
        """All init containers, sidecars and app containers, in their order."""
        return iter(self.containers)

    def mounting(self, folder: str) -> Iterator[Container]:
        """The containers with a mount path that contains the text."""
        return (container for container in self.containers if mounts_below(container.raw, folder))
