"""Containers in the forms that custom kinds use instead of the API's own."""

from __future__ import annotations

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


class Step(Container):
    """A step or sidecar of Tekton, whose resources stand in `computeResources` (tektoncd/pipeline, v1)."""

    __slots__ = ()

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str) -> None:
        super().__init__(raw, list_path, place, kind)
        resources = members(raw, _COMPUTE, self.path)
        if resources:
            path = (*self.path, _COMPUTE)
            self.limits, self.requests = members(resources, "limits", path), members(resources, "requests", path)

    def amount_path(self, field: str, name: str) -> Path:
        """The path to the amount of a resource."""
        return (*self.path, _COMPUTE if _COMPUTE in self.raw else "resources", field, name)


_COMPUTE = "computeResources"


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
