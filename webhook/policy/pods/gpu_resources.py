"""The names of GPU resources: those of the settings, and the names of MIG slices."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.policy.settings.settings import Resource

MIG = "nvidia.com/mig-"
"""How the names of MIG slices begin."""


class GpuResources:
    """The GPU resources of the settings. `by_name` does not contain those of MIG, which need no entry."""

    __slots__ = ("by_name",)

    def __init__(self, resources: Iterable[Resource]) -> None:
        self.by_name = {resource.name: resource for resource in resources}

    def find(self, name: str) -> Resource | None:
        """The GPU resource that a name stands for, or None."""
        known = self.by_name.get(name)
        if known is None and name.startswith(MIG):
            return Resource(name, "mig")
        return known

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.by_name or name.startswith(MIG))
