"""Containers in the forms that custom kinds use instead of the API's own."""

from __future__ import annotations

from typing import ClassVar

from webhook.policy.pods.pod import Container
from webhook.policy.pods.reading import NOTHING, MalformedError, Members, members
from webhook.policy.verdict import Path


class BareResources(Container):
    """A container of which only the resources are known, as `spec.trainer.resourcesPerNode` of a TrainJob."""

    __slots__ = ()

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str) -> None:
        super().__init__(NOTHING, list_path, place, kind)
        self.limits = members(raw, "limits", self.path)
        self.requests = members(raw, "requests", self.path)

    def amount_path(self, field: str, name: str) -> Path:
        """The path to the amount of a resource."""
        return (*self.path, field, name)


class _Renamed(Container):
    """A container whose resources stand in a field of another name, where it has that field."""

    __slots__ = ()
    _RESOURCES: ClassVar[str]

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str) -> None:
        super().__init__(raw, list_path, place, kind)
        resources = members(raw, self._RESOURCES, self.path)
        if resources:
            path = (*self.path, self._RESOURCES)
            self.limits, self.requests = members(resources, "limits", path), members(resources, "requests", path)

    def amount_path(self, field: str, name: str) -> Path:
        """The path to the amount of a resource."""
        return (*self.path, self._RESOURCES if self._RESOURCES in self.raw else "resources", field, name)


class Step(_Renamed):
    """A step or sidecar of Tekton (tektoncd/pipeline, v1)."""

    __slots__ = ()
    _RESOURCES = "computeResources"


class Trainer(_Renamed):
    """The container of each node of a TrainJob (kubeflow/trainer, `Trainer`).

    Its image, command, arguments and variables replace those of the runtime's container named `node`, or are added.
    """

    __slots__ = ()
    _RESOURCES = "resourcesPerNode"

    @property
    def label(self) -> str:
        """The name of the container in the runtime."""
        return "node"


class SparkGpu(Container):
    """The container of a pod of Spark, by the GPU that its pod gets (kubeflow/spark-operator, `GPUSpec`)."""

    __slots__ = ()

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str) -> None:
        super().__init__(NOTHING, list_path, place, kind)
        name = raw.get("name")
        if name is not None and not isinstance(name, str):
            raise MalformedError((*self.path, "name"), "text", name)
        if name and "quantity" in raw:
            self.limits = {name: raw["quantity"]}

    def amount_path(self, field: str, name: str) -> Path:  # noqa: ARG002 - Spark has one amount
        """The path to the amount, which has no field of its own for each resource."""
        return (*self.path, "quantity")
