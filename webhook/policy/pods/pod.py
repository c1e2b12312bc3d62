"""A pod as checks and injections see it: a lazy view over the plain object, never a copy of it.

Custom kinds use forms of pods and containers of their own, from which their controllers assemble pods.

Views are slotted and not frozen: freezing costs as much as several checks, on every request. The policy ignores all
environment variables of a container except those here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from posixpath import normpath
from typing import Any, Final, NamedTuple

from webhook.policy.pods.reading import NOTHING, MalformedError, Members, elements, members, text
from webhook.policy.verdict import Path

PIPE_DIRECTORY = "CUDA_MPS_PIPE_DIRECTORY"
VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
THREADS = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
MEMORY = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
PRIORITY = "CUDA_MPS_CLIENT_PRIORITY"
PARTITIONING = "CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING"
CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS"
CUDA_VISIBLE = "CUDA_VISIBLE_DEVICES"
MULTI_RANK = "NCCL_MULTI_RANK_GPU_ENABLE"
RAY_ADDRESS = "RAY_ADDRESS"

WATCHED = frozenset(
    {
        *(PIPE_DIRECTORY, VISIBLE_DEVICES, THREADS, MEMORY, PRIORITY, PARTITIONING, CONNECTIONS),
        *(CUDA_VISIBLE, MULTI_RANK, RAY_ADDRESS),
    }
)


APP: Final = "container"
INIT: Final = "init container"
SIDECAR: Final = "sidecar"
EPHEMERAL: Final = "ephemeral container"

_NO_INDICES: Final[dict[str, int]] = {}
_NO_PLACES: Final[dict[str, Path]] = {}


class Container:
    """One container of a pod. `kind` is APP, INIT, SIDECAR or EPHEMERAL; the last cannot ask for resources."""

    __slots__ = ("_mounts", "_place", "_variables", "kind", "limits", "list_path", "raw", "requests")

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str) -> None:
        """Make the view of the container at a place below a path, or at the path itself if the place is None."""
        self.raw = raw
        self.list_path = list_path
        self._place = place
        self.kind = kind
        resources = raw.get("resources")
        if resources:
            self.limits = self._amounts(resources, "limits")
            self.requests = self._amounts(resources, "requests")
        else:
            self.limits = self.requests = NOTHING
            if resources is not None:
                members(raw, "resources", self.path)
        self._variables: dict[str, int] | None = None
        self._mounts: dict[str, int] | None = None

    @property
    def path(self) -> Path:
        """The path to it, built on access: a pod may hold thousands of containers."""
        return self.list_path if self._place is None else (*self.list_path, self._place)

    def _amounts(self, resources: Any, field: str) -> Members:
        if isinstance(resources, dict):
            amounts = resources.get(field)
            if amounts is None:
                return NOTHING
            if isinstance(amounts, dict):
                return amounts
        return members(members(self.raw, "resources", self.path), field, (*self.path, "resources"))

    def amount_path(self, field: str, name: str) -> Path:
        """The path to the amount of a resource, under `limits` or `requests`."""
        return (*self.path, "resources", field, name)

    def name_path(self, field: str, name: str) -> Path:
        """The path to where the name of a resource stands: to its amount, whose key it is."""
        return self.amount_path(field, name)

    @property
    def name(self) -> str:
        """Its name; empty text without one."""
        return text(self.raw, "name", self.path)

    @property
    def label(self) -> str:
        """Its name, for messages; where it has none, its field, or its index in brackets."""
        return self.name or "".join(step if isinstance(step, str) else f"[{step}]" for step in self.path[-1:])

    @property
    def is_privileged(self) -> bool:
        """Whether it is privileged. Raises MalformedError."""
        return members(self.raw, "securityContext", self.path).get("privileged") is True

    @property
    def variables(self) -> Mapping[str, int]:
        """The index of each watched variable in `env`. The last of several entries counts, as in the kubelet."""
        if self._variables is None:
            variables = {}
            for index, entry in enumerate(elements(self.raw, "env", self.path) if "env" in self.raw else ()):
                name = entry.get("name")
                if isinstance(name, str):
                    if name in WATCHED:
                        variables[name] = index
                elif name is not None:
                    raise MalformedError((*self.path, "env", index, "name"), "text", name)
            self._variables = variables
        return self._variables

    def variable(self, name: str) -> Members | None:
        """The entry that sets the variable, or None."""
        index = self.variables.get(name)
        return None if index is None else self.raw["env"][index]

    def variable_path(self, name: str, member: str = "value") -> Path:
        """The path to a member of the entry that sets the variable, or to the entry where it lacks the member."""
        index = self.variables[name]
        path: Path = (*self.path, "env", index)
        return (*path, member) if member in self.raw["env"][index] else path

    @property
    def mounts(self) -> Mapping[str, int]:
        """The index in `volumeMounts` of each mount path, normalised."""
        if self._mounts is None:
            path = self.path
            mounts = elements(self.raw, "volumeMounts", path) if "volumeMounts" in self.raw else ()
            self._mounts = {
                clean_path(text(mount, "mountPath", (*path, "volumeMounts", index))): index
                for index, mount in enumerate(mounts)
            }
        return self._mounts


def clean_path(path: str) -> str:
    """A path in the container without double or trailing slashes and without dots.

    A path longer than Linux accepts (PATH_MAX) is returned unchanged: nothing can be mounted there.
    """
    if path[:1] == "/" and "/." not in path and "//" not in path and path[-1] != "/":
        return path
    return normpath("/" + path.lstrip("/")) if len(path) <= _PATH_MAX else path


_PATH_MAX = 4096


def mounts_below(raw: Members, folder: str) -> bool:
    """Whether a mount path of a container contains the text. Other checks report a list that is malformed."""
    mounts = raw.get("volumeMounts")
    for mount in mounts if isinstance(mounts, list) else ():
        path = mount.get("mountPath") if isinstance(mount, dict) else None
        if isinstance(path, str) and folder in path:
            return True
    return False


_NO_RESOURCES: Final[tuple[object, ...]] = (None, {})
_NO_ENTRIES: Final[tuple[object, ...]] = (None, [])


_KINDS = {"containers": APP, "ephemeralContainers": EPHEMERAL}


def _first(raw: Members) -> str:
    """The kind of a container among `initContainers`."""
    return SIDECAR if raw.get("restartPolicy") == "Always" else INIT


class Pod:
    """A pod, or the template of one, as a view over its metadata and spec. The paths lead there from the object.

    `containers` are those that name resources or set variables, init containers first; no check reads the others.
    `is_editable`: the object has both metadata and spec, so that edits can be made. `holds_spec`: the object holds the
    whole spec in one mapping, where fields can be added. `is_container`: nothing is known of the pod but its
    containers.
    """

    __slots__ = (
        "_places",
        "_volumes",
        "annotations",
        "containers",
        "holds_spec",
        "is_container",
        "is_editable",
        "metadata_path",
        "spec",
        "spec_path",
    )

    def __init__(self, metadata: Members, spec: Members, metadata_path: Path, spec_path: Path) -> None:
        self._places: Mapping[str, Path] = _NO_PLACES
        self.metadata_path = metadata_path
        self.annotations = members(metadata, "annotations", metadata_path)
        self.is_editable = self.holds_spec = True
        self.is_container = False
        self.spec_path = spec_path
        self.spec = spec
        self.containers: tuple[Container, ...] = tuple(
            [
                Container(raw, path, index, _KINDS.get(field) or _first(raw))
                for field in ("initContainers", "containers")
                for path in [(*spec_path, field)]  # the same for all of its containers
                for index, raw in enumerate(self.elements(field))
                if raw.get("resources") not in _NO_RESOURCES or raw.get("env") not in _NO_ENTRIES
            ]
        )
        self._volumes = _NO_INDICES if spec.get("volumes") is None else None

    def path_of(self, field: str) -> Path:
        """The path to a field of the spec, in the mapping that holds it."""
        return (*self._places.get(field, self.spec_path), field)

    def having(self, field: str, value: object) -> Pod:
        """The same pod with a field of its spec."""
        pod = copy(self)
        pod.spec = {**self.spec, field: value}
        return pod

    def place_of(self, field: str) -> Path:
        """The path of a field, or of the spec where the field is absent."""
        return self.path_of(field) if field in self.spec else self.spec_path

    @property
    def volumes(self) -> Mapping[str, int]:
        """The index of each volume in `volumes`; the first of several with one name counts."""
        if self._volumes is None:
            path = self.path_of("volumes")
            self._volumes = {}
            for index, volume in enumerate(self.elements("volumes")):
                self._volumes.setdefault(text(volume, "name", (*path, index)), index)
        return self._volumes

    def volume(self, name: str) -> Members | None:
        """The volume of a name, or None."""
        index = self.volumes.get(name)
        return None if index is None else self.spec["volumes"][index]

    def host_paths(self) -> Iterator[str]:
        """The paths of the `hostPath` volumes, as written."""
        for index, volume in enumerate(self.elements("volumes")):
            if volume.get("hostPath") is not None:
                place = (*self.path_of("volumes"), index)
                yield text(members(volume, "hostPath", place), "path", (*place, "hostPath"))

    @classmethod
    def of_template(cls, raw: Members, path: Path = ()) -> Pod:
        """The pod of an object with `metadata` and `spec`: a Pod, or a PodTemplateSpec at a path."""
        metadata, spec = members(raw, "metadata", path), members(raw, "spec", path)
        return cls(metadata, spec, (*path, "metadata"), (*path, "spec"))

    @classmethod
    def of_spec(cls, raw: Members, path: Path) -> Pod:
        """The pod of a spec without metadata, which gets no edits."""
        pod = cls(NOTHING, raw, path, path)
        pod.is_editable = False
        return pod

    @classmethod
    def of_container(cls, raw: Members, path: Path) -> Pod:
        """A pod of one container, which stands at a path outside any pod and gets no edits."""
        pod = cls(NOTHING, NOTHING, path, path)
        pod.is_editable = pod.holds_spec = False
        pod.is_container = True
        pod.containers = (Container(raw, path, None, APP),)
        return pod

    def every_container(self) -> Iterator[Container]:
        """All init containers, sidecars and app containers, in their order."""
        known = iter((*self.containers, None))
        following = next(known)
        for field in ("initContainers", "containers"):
            for index, raw in enumerate(self.elements(field)):
                if following is not None and following.raw is raw:
                    yield following
                    following = next(known)
                else:
                    yield Container(raw, (*self.spec_path, field), index, _KINDS.get(field) or _first(raw))

    def container(self, name: object) -> Container | None:
        """The container of a name, app containers first; the first app container without a name. None if absent."""
        named = [each for each in self.every_container() if name is None or each.raw.get("name") == name]
        first = named[0] if named and name is not None else None
        return next((container for container in named if container.kind is APP), first)

    def mounting(self, folder: str) -> Iterator[Container]:
        """The containers, ephemeral ones included, with a mount path that contains the text."""
        for field in ("initContainers", "containers", "ephemeralContainers"):
            if not self.spec.get(field):
                continue
            for index, raw in enumerate(self.elements(field)):
                if raw.get("volumeMounts") and mounts_below(raw, folder):
                    yield Container(raw, (*self.spec_path, field), index, _KINDS.get(field) or _first(raw))

    def ephemeral_containers(self) -> Iterator[Container]:
        """The containers that were added after the pod was created, as `kubectl debug` does."""
        path = (*self.spec_path, "ephemeralContainers")
        for index, raw in enumerate(self.elements("ephemeralContainers")):
            yield Container(raw, path, index, EPHEMERAL)

    def members(self, field: str) -> Members:
        return members(self.spec, field, self._places.get(field, self.spec_path))

    def elements(self, field: str) -> list[Members]:
        value = self.spec.get(field)
        if value is None:
            return []
        if value.__class__ is list:  # as of JSON; checked here, because each pod is asked for six lists
            for element in value:
                if element.__class__ is not dict:
                    break
            else:
                found: list[Members] = value
                return found
        return elements(self.spec, field, self._places.get(field, self.spec_path))

    def text(self, field: str) -> str:
        return text(self.spec, field, self._places.get(field, self.spec_path))


_FIELDS = ("limits", "requests")


class Amount(NamedTuple):
    """An amount of a resource, among the limits or the requests, and the paths to it and to the resource's name."""

    field: str
    name: str
    value: object
    path: Path
    named: Path


class FieldContainer(Container):
    """A container in a field of a custom kind. `given` is the name that the controller gives it; empty for its own."""

    __slots__ = ("_given", "_stated")

    def __init__(self, raw: Members, list_path: Path, place: str | int | None, kind: str, given: str = "") -> None:
        super().__init__(raw, list_path, place, kind)
        self._given = given
        self._stated: dict[tuple[str, str], Amount] = {}

    def state(self, amounts: Iterable[Amount]) -> None:
        """Give it these amounts instead of its own. A later one replaces an earlier one of the same resource."""
        stated = self._stated = {(amount.field, amount.name): amount for amount in amounts}
        self.limits, self.requests = (
            {name: amount.value for (own, name), amount in stated.items() if own == field} for field in _FIELDS
        )

    @property
    def label(self) -> str:
        """The name that it has in its pod, for messages."""
        return self._given or super().label

    def amount_path(self, field: str, name: str) -> Path:
        stated = self._stated.get((field, name))
        return super().amount_path(field, name) if stated is None else stated.path

    def name_path(self, field: str, name: str) -> Path:
        stated = self._stated.get((field, name))
        return super().name_path(field, name) if stated is None else stated.named


def resource_amounts(resources: Members, path: Path) -> Iterator[Amount]:
    """The amounts of the API's own form."""
    for field in _FIELDS:
        for name, value in members(resources, field, path).items():
            where = (*path, field, name)
            yield Amount(field, name, value, where, where)


def amounts_below(raw: Members, path: Path, field: str) -> Iterator[Amount]:
    """The amounts below a field, or below `resources` where that is empty."""
    where = field if members(raw, field, path) else "resources"
    return resource_amounts(members(raw, where, path), (*path, where))


def spark_amounts(role: Members, path: Path) -> Iterator[Amount]:
    """The GPU of a role of Spark, which the operator sets as a limit (kubeflow/spark-operator, `GPUSpec` and `addGPU`).

    The role holds the container's `env`, `volumeMounts` and `securityContext`.
    """
    gpu, where = members(role, "gpu", path), (*path, "gpu")
    name = text(gpu, "name", where)
    if name and "quantity" in gpu:
        yield Amount("limits", name, gpu["quantity"], (*where, "quantity"), (*where, "name"))


SPEC_FIELDS = tuple(
    """
    affinity hostIPC hostPID hostUsers nodeName nodeSelector os runtimeClassName schedulingGates securityContext
    tolerations volumes
    """.split()
)
"""The fields of a pod's spec that checks read, and that custom kinds hold under the same name and with one meaning."""

_UNSET: tuple[object, ...] = (None, {}, [])


class AssembledPod(Pod):
    """A pod of these containers, with the fields of these mappings, of which a later one replaces an earlier one.

    `places` are the mappings with their paths, `path` is that of the pod. An empty field replaces none.
    """

    __slots__ = ()

    def __init__(
        self,
        containers: tuple[Container, ...],
        places: Sequence[tuple[Path, Members]],
        path: Path,
        *,
        is_container: bool,
    ) -> None:
        spec: Members = {}
        held: dict[str, Path] = {}
        for place, fields in places:
            for field in SPEC_FIELDS:
                if field in fields and fields[field] not in _UNSET:
                    spec[field], held[field] = fields[field], place
        where = places[-1][0] if places else path
        super().__init__(NOTHING, spec, where, where)
        self._places = held
        self.is_editable = False
        self.is_container = is_container
        self.holds_spec = [place for place, _ in places] == [path]
        self.containers = containers

    def every_container(self) -> Iterator[Container]:
        """All init containers, sidecars and app containers, in their order."""
        return iter(self.containers)

    def mounting(self, folder: str) -> Iterator[Container]:
        """The containers with a mount path that contains the text."""
        return (container for container in self.containers if mounts_below(container.raw, folder))
