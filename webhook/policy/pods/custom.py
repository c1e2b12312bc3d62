"""Pods and containers in the forms that custom kinds use instead of the API's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import ClassVar

from webhook.policy.pods.pod import APP, Container, Pod, mounts_below
from webhook.policy.pods.reading import NOTHING, Members, elements, members, text
from webhook.policy.verdict import Path


class FieldContainer(Container):
    """A container in a field of a custom kind. `given` is the name that the controller gives it; empty for its own."""

    __slots__ = ("_given",)

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str, given: str = "") -> None:
        super().__init__(raw, list_path, place, kind)
        self._given = given

    @property
    def label(self) -> str:
        """The name that it has in its pod, for messages."""
        return self._given or super().label


class BareResources(FieldContainer):
    """A container of which only the resources are known, as `spec.trainer.resourcesPerNode` of a TrainJob."""

    __slots__ = ()

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str, given: str = "") -> None:
        super().__init__(NOTHING, list_path, place, kind, given)
        self.limits = members(raw, "limits", self.path)
        self.requests = members(raw, "requests", self.path)

    def amount_path(self, field: str, name: str) -> Path:
        return (*self.path, field, name)


class _Renamed(FieldContainer):
    """A container whose resources stand in a field of another name, where it has that field."""

    __slots__ = ()
    _RESOURCES: ClassVar[str]

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str, given: str = "") -> None:
        super().__init__(raw, list_path, place, kind, given)
        resources = members(raw, self._RESOURCES, self.path)
        if resources:
            path = (*self.path, self._RESOURCES)
            self.limits, self.requests = members(resources, "limits", path), members(resources, "requests", path)

    def amount_path(self, field: str, name: str) -> Path:
        return (*self.path, self._RESOURCES if self._RESOURCES in self.raw else "resources", field, name)


class TektonStep(_Renamed):
    """A step or sidecar of Tekton (tektoncd/pipeline, v1)."""

    __slots__ = ("_template",)
    _RESOURCES = "computeResources"

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str, given: str = "") -> None:
        super().__init__(raw, list_path, place, kind, given)
        self._template: TektonStep | None = None

    def inherit(self, template: TektonStep) -> None:
        """Add the amounts of the step template that the step does not set itself."""
        self._template = template
        self.limits, self.requests = {**template.limits, **self.limits}, {**template.requests, **self.requests}

    def amount_path(self, field: str, name: str) -> Path:
        """The path to the amount of a resource, which the step sets or inherits."""
        own = super().amount_path(field, name)
        if self._template is None or name in members(members(self.raw, str(own[-3]), self.path), field, self.path):
            return own
        return self._template.amount_path(field, name)


class StepTemplate(TektonStep):
    """The template of Tekton's steps. They inherit a few of its extended resources, and nothing else."""

    __slots__ = ()

    def __init__(self, raw: Members, path: Path) -> None:
        super().__init__(raw, path, None, APP)
        self.limits, self.requests = _extended(self.limits), _extended(self.requests)


_MOST_INHERITED = 8
"""Resources that each step inherits. No author writes as many, and every step pays for each."""


def _extended(amounts: Members) -> Members:
    """The first few extended resources, whose names have a domain."""
    return {name: amounts[name] for name in islice((name for name in amounts if "/" in name), _MOST_INHERITED)}


class Trainer(_Renamed):
    """The container of each node of a TrainJob (kubeflow/trainer, `Trainer`).

    Its image, command, arguments and variables replace those of the runtime's container named `node`, or are added.
    """

    __slots__ = ()
    _RESOURCES = "resourcesPerNode"


class SparkContainer(FieldContainer):
    """The container of Spark in the pod of a role, with the GPU that the role asks for.

    The role holds the container's `env`, `volumeMounts` and `securityContext`. The operator sets the amount as a limit
    (kubeflow/spark-operator, `GPUSpec` and `addGPU`).
    """

    __slots__ = ()

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str, given: str = "") -> None:
        super().__init__(raw, list_path, place, kind, given)
        gpu = members(raw, "gpu", self.path)
        name = text(gpu, "name", (*self.path, "gpu"))
        self.limits = {name: gpu["quantity"]} if name and "quantity" in gpu else NOTHING

    def amount_path(self, field: str, name: str) -> Path:  # noqa: ARG002 - Spark has one amount
        """The path to the amount, which has no field of its own for each resource."""
        return (*self.path, "gpu", "quantity")

    def name_path(self, field: str, name: str) -> Path:  # noqa: ARG002 - Spark has one name
        return (*self.path, "gpu", "name")


class CountedGpus(FieldContainer):
    """A container of which an operator's own form of resources is known: `gpu`, and the resource's name in `gpuType`.

    The operator sets the amount as a limit, of NVIDIA's GPUs unless `gpuType` names another resource
    (vllm-project/production-stack at a6c01db, `operator/internal/controller/vllmruntime_controller.go`).
    """

    __slots__ = ("_name",)

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str, given: str = "") -> None:
        super().__init__(NOTHING, list_path, place, kind, given)
        named = text(raw, "gpuType", self.path)
        self._name = "gpuType" if named else "gpu"
        self.limits = {named or _NVIDIA: raw["gpu"]} if raw.get("gpu") not in (None, "") else NOTHING

    @property
    def bare_amounts(self) -> tuple[Path, ...]:
        return ((*self.path, "gpu"),)

    def amount_path(self, field: str, name: str) -> Path:  # noqa: ARG002 - the form has one amount
        return (*self.path, "gpu")

    def name_path(self, field: str, name: str) -> Path:  # noqa: ARG002 - the form has one name
        """The path to the name of the resource, or to the amount of the one that needs no name."""
        return (*self.path, self._name)


_NVIDIA = "nvidia.com/gpu"


class DynamoService(FieldContainer):
    """The main container of a service of Dynamo, in its form of v1alpha1.

    The operator merges `extraPodSpec.mainContainer` over the service's own `resources`, whose `gpu` counts
    (ai-dynamo/dynamo at 0d531a9, `deploy/operator/api/v1alpha1/shared_spec_conversion.go`). The variables in the
    service's `envs` are not read. With `gpuMemoryService`, a claim takes the place of its GPUs, which are not read.
    """

    __slots__ = ("_counted", "_is_claimed")

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str, given: str = "") -> None:
        extra, resources = members(raw, "extraPodSpec", list_path), members(raw, "resources", list_path)
        path = (*list_path, "extraPodSpec")
        super().__init__(members(extra, "mainContainer", path), (*path, "mainContainer"), place, kind, given)
        where = (*list_path, "resources")
        self._counted = {
            field: CountedGpus(members(resources, field, where), (*where, field), None, kind)
            for field in ("limits", "requests")
        }
        self._is_claimed = members(raw, "gpuMemoryService", list_path).get("enabled") is True
        self.limits = NOTHING if self._is_claimed else {**self._counted["limits"].limits, **self.limits}
        self.requests = NOTHING if self._is_claimed else {**self._counted["requests"].limits, **self.requests}

    @property
    def bare_amounts(self) -> tuple[Path, ...]:
        counted = () if self._is_claimed else self._counted.values()
        return tuple(path for one in counted for path in one.bare_amounts)

    def amount_path(self, field: str, name: str) -> Path:
        return self._source(field, name).amount_path(field, name)

    def name_path(self, field: str, name: str) -> Path:
        return self._source(field, name).name_path(field, name)

    def _source(self, field: str, name: str) -> Container:
        """The container of the API's form that sets an amount, or the resources of the service."""
        own = Container(self.raw, self.path, None, self.kind)
        is_own = name in (own.limits if field == "limits" else own.requests)
        return own if is_own or name not in self._counted[field].limits else self._counted[field]


LocatedMapping = tuple[Path, Members]
"""A mapping, and the path to it."""

FIELDS = tuple(
    """
    affinity hostIPC hostPID hostUsers nodeName nodeSelector os runtimeClassName schedulingGates securityContext
    terminationGracePeriodSeconds tolerations volumes
    """.split()
)
"""The fields of a pod's spec that checks read, and that custom kinds hold under the same name and with one meaning."""

_UNSET: tuple[object, ...] = (None, {}, [])


class AssembledPod(Pod):
    """A pod of these containers, with the fields of these mappings, of which a later one replaces an earlier one.

    `places` are the mappings with their paths, `path` is that of the pod. An empty field replaces none.
    """

    __slots__ = ("_places",)

    def __init__(
        self, containers: tuple[Container, ...], places: Sequence[LocatedMapping], path: Path, *, is_container: bool
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
