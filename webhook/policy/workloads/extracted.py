"""The pods that an object holds, their assembly from fields of a custom kind, and the groups that work together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from itertools import islice
from typing import NamedTuple
from weakref import ref

from webhook.policy.launchers.find import may_share_gpu, of_container
from webhook.policy.launchers.words import Launch, Spread
from webhook.policy.pods import custom
from webhook.policy.pods.pod import APP, INIT, SIDECAR, Container, Pod
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.reading import Members, elements, mapping
from webhook.policy.pods.requests import GpuRequests, Lookup
from webhook.policy.verdict import Path
from webhook.policy.workloads.paths import (
    EVERY,
    Assembly,
    Containers,
    Form,
    PathPattern,
    PodPath,
    Whole,
    at,
    repeats,
    walk,
)


class Deferral(Enum):
    """Why the nodes of a pod are chosen later. The value is the reason in reports."""

    SUSPENDED = "suspended: the nodes of its pods are chosen when it resumes"
    QUEUED = "queued: a queue chooses the nodes of its pods"
    USED_ELSEWHERE = "used as a template: the object that uses it may choose the nodes of its pods"
    OPEN = "with open nodes: another object, or a field that is not read, may choose the nodes of its pods"
    DEFAULT = "queued: the default queue chooses the nodes of its pods"
    GATED = "gated: its nodes are chosen when its scheduling gates are removed"


_MOST_CONTAINERS = 256
"""Containers of one pod whose command lines are read: more than a node can run."""

_LAUNCHING = frozenset({"args", "command", "env", "source", "script"})
"""Fields without which a container launches nothing that is known."""


class ExtractedPod:
    """A pod that an object holds. `raw` is the value at its path.

    `is_pod`: the object is a Pod, not a workload with a template. `deferral`: why the nodes of its pods are chosen
    later, if they are. `place` is the path of the kind, `manifest` the object. `group` holds the pods with which it
    works together, itself included; None if it works alone.
    """

    __slots__ = ("__weakref__", "_launches", "deferral", "group", "is_pod", "manifest", "path", "place", "pod", "raw")

    def __init__(
        self, path: Path, raw: Members, place: PodPath, manifest: Members, is_pod: bool, deferral: Deferral | None
    ) -> None:
        self.path = path
        self.raw = raw
        self.place = place
        self.manifest = manifest
        self.is_pod = is_pod
        self.deferral = deferral
        self.group: Group | None = None
        self._launches: tuple[tuple[Container, Launch], ...] | None = None
        holds = place.holds
        self.pod = assembled(raw, path, holds, manifest) if isinstance(holds, Assembly) else _WHOLE[holds](raw, path)

    @property
    def count(self) -> int | None:
        """How many pods of its group are made from it; None if the object does not say."""
        return self.place.count(self.manifest, self.path)

    @property
    def content(self) -> object:
        """The source of the pod, for a comparison with the same pod before an update.

        The mapping of a pod spec, or from which a controller assembles a pod, may also hold other fields, such as
        `minReplicas`.
        """
        pod = self.pod
        if self.place.holds == "podSpec":
            return [self.raw.get(field) for field in (*custom.FIELDS, "initContainers", "containers")]
        if not isinstance(pod, custom.AssembledPod):
            return self.raw
        return pod.spec, [(container.raw, container.limits, container.requests) for container in pod.containers]

    @property
    def launches(self) -> tuple[tuple[Container, Launch], ...]:
        """The launches on GPUs of the command lines of its containers, by container. Raises MalformedError."""
        if self._launches is None:
            self._launches = launches_of(self._launching())
        return self._launches

    @property
    def ranks_may_share(self) -> bool:
        """Whether a container lets ranks of NCCL share a GPU, or its ranks do not use NCCL. Raises MalformedError."""
        return any(may_share_gpu(container) for container in self._launching())

    def _launching(self) -> Iterable[Container]:
        """The first containers that name resources or set variables, else the first of all."""
        return self.pod.containers[:_MOST_CONTAINERS] or islice(self.pod.every_container(), _MOST_CONTAINERS)


def launches_of(containers: Iterable[Container]) -> tuple[tuple[Container, Launch], ...]:
    """The launches on GPUs of command lines, by container. Raises MalformedError."""
    return tuple(
        [
            (container, launch)
            for container in islice(containers, _MOST_CONTAINERS)
            if not _LAUNCHING.isdisjoint(container.raw)
            for launch in of_container(container)
        ]
    )


class GroupGpus(NamedTuple):
    """The GPUs of a group. `total` is their number in all pods, None where the object does not say how many pods.

    `most`: those of the container with the most. `pods`: the least number of pods that ask for GPUs; `first` is the
    path of the first of them, None without any. `others`: what pods that ask for none launch, such as the launcher of
    an MPIJob, by container.
    """

    total: int | None
    most: int
    pods: int
    first: Path | None
    others: tuple[tuple[Container, Launch], ...]


class Group:
    """Pods of an object that work together, in the order of their paths. It reads each of them once.

    It refers to its pods weakly, because each refers to it: a cycle would keep the object of a large review until the
    garbage collector runs. It needs the pods only while the object is checked.
    """

    __slots__ = ("_gpus", "_pods", "_ranks")

    def __init__(self) -> None:
        self._pods: list[ref[ExtractedPod]] = []
        self._gpus: GroupGpus | None = None
        self._ranks: tuple[bool, bool] | None = None

    def add(self, extracted: ExtractedPod) -> None:
        extracted.group = self
        self._pods.append(ref(extracted))

    @property
    def pods(self) -> list[ExtractedPod]:
        return [extracted for one in self._pods if (extracted := one()) is not None]

    def gpus(self, lookup: Lookup) -> GroupGpus:
        """Its GPUs. All calls for a group pass the same lookup."""
        if self._gpus is None:
            self._gpus = _gpus(self.pods, lookup)
        return self._gpus

    def ranks(self, lookup: Lookup) -> tuple[bool, bool]:
        """Whether a command line starts ranks in several of its pods, and whether such ranks may share a GPU.

        So it does if it says so, or if it takes more GPUs than a container has, and not only its own.
        """
        if self._ranks is None:
            most = self.gpus(lookup).most
            spans = any(
                launch.spans or (launch.spread is not Spread.CONTAINER and launch.total > most > 0)
                for extracted in self.pods
                for _, launch in extracted.launches
            )
            self._ranks = spans, any(extracted.ranks_may_share for extracted in self.pods)
        return self._ranks


def _gpus(pods: list[ExtractedPod], lookup: Lookup) -> GroupGpus:
    total: int | None = 0
    most = count = 0
    first: Path | None = None
    others: list[tuple[Container, Launch]] = []
    for extracted in pods:
        held: dict[Path, int] = {}
        for request in GpuRequests(extracted.pod, lookup).positive:
            path = request.container.path
            held[path] = held.get(path, 0) + request.billionths // NANO
        if not held:
            others.extend(extracted.launches)
            continue
        made = extracted.count
        total = None if total is None or made is None else total + made * sum(held.values())
        count += 1 if made is None else made
        most = max(most, *held.values())
        first = extracted.path if first is None else first
    return GroupGpus(total, most, count, first, tuple(others))


def assign_groups(pods: list[ExtractedPod]) -> None:
    """Give each pod the group of its path."""
    groups: dict[tuple[str, Path], Group] = {}
    for extracted in pods:
        place = extracted.place
        if place.group and place.works_together(extracted.manifest, extracted.path):
            key = place.group, extracted.path[: len(place.apart)]
            groups.setdefault(key, Group()).add(extracted)


def _of_resources(raw: Members, path: Path) -> Pod:
    return custom.AssembledPod((custom.BareResources(raw, path, None, APP),), (), path, is_container=True)


_WHOLE: Mapping[Whole, Callable[[Members, Path], Pod]] = {
    "template": Pod.of_template,
    "podSpec": Pod.of_spec,
    "container": Pod.of_container,
    "resources": _of_resources,
}


_FORMS: Mapping[Form, type[custom.FieldContainer]] = {
    "container": custom.FieldContainer,
    "resources": custom.BareResources,
    "step": custom.TektonStep,
    "trainer": custom.Trainer,
    "spark": custom.SparkContainer,
    "gpus": custom.CountedGpus,
    "dynamo": custom.DynamoService,
}


def assembled(raw: Members, path: Path, assembly: Assembly, manifest: Members) -> custom.AssembledPod:
    """The pod at a path of an object. Raises MalformedError."""
    containers = tuple(one for part in assembly.parts for one in _containers_of(raw, path, part))
    places = list(fields_around(path, assembly, manifest))
    return custom.AssembledPod(containers, places, path, is_container=not assembly.around)


def _containers_of(raw: Members, path: Path, part: Containers) -> Iterator[Container]:
    """The containers of a part, each with the amounts that it inherits."""
    form = _FORMS[part.form]
    templates = () if part.template is None else walk(raw, part.template, path)
    template = next((custom.StepTemplate(held, where) for where, held in templates), None)
    for number, (held, list_path, place) in enumerate(_mappings_of(raw, path, part.steps)):
        kind = SIDECAR if part.kind is INIT and held.get("restartPolicy") == "Always" else part.kind
        container = form(held, list_path, place, kind, part.name)
        if template is not None and isinstance(container, custom.TektonStep) and number < _MOST_INHERITING:
            container.inherit(template)
        yield container


_MOST_INHERITING = 1024
"""Steps of a pod that inherit from a template: more than a node can run. An empty step has two bytes."""


def _mappings_of(raw: Members, path: Path, steps: PathPattern) -> Iterator[tuple[Members, Path, str | int | None]]:
    """The mappings of containers, each with the path of its list and its place in it, or with its own path."""
    if EVERY not in steps:
        for where, held in walk(raw, steps, path):
            yield held, where, None
        return
    *outer, field, _ = steps
    for where, holder in walk(raw, tuple(outer), path):
        for index, held in enumerate(elements(holder, field, where)):
            yield held, (*where, field), index


def fields_around(path: Path, holds: Whole | Assembly, manifest: Members) -> Iterator[tuple[Path, Members]]:
    """The mappings with fields of an assembled pod. They pass through the same elements as the path to the pod."""
    for steps in holds.around if isinstance(holds, Assembly) else ():
        where = tuple(path[place] if repeats(step) else step for place, step in enumerate(steps))
        held = at(manifest, where)
        if held is not None:
            yield where, mapping(held, where)
