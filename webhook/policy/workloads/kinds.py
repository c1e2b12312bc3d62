"""The kinds that hold pods, the pods that an object holds, and the groups of pods that work together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from weakref import ref

from webhook.policy.launchers.find import may_share_gpu, of_container
from webhook.policy.launchers.words import Launch, Spread
from webhook.policy.pods.pod import (
    INIT,
    SIDECAR,
    SPEC_FIELDS,
    Amount,
    AssembledPod,
    Container,
    FieldContainer,
    Pod,
    amounts_below,
    resource_amounts,
    spark_amounts,
)
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.reading import NOTHING, MalformedError, Members, elements, is_placeholder, mapping
from webhook.policy.pods.requests import GpuRequests, Lookup
from webhook.policy.verdict import Path
from webhook.policy.workloads.paths import (
    EVERY,
    REPEATED,
    Assembly,
    Condition,
    Containers,
    Form,
    PodPath,
    Whole,
    at,
    counted,
    never,
    of_job,
    steps,
    unknown,
    walk,
)

if TYPE_CHECKING:
    from webhook.policy.settings.elements import WorkloadPath


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


Launches: TypeAlias = tuple[tuple[Container, Launch], ...]
"""Launches on GPUs by command lines, by container."""


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
        self._launches: Launches | None = None
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
            return [self.raw.get(field) for field in (*SPEC_FIELDS, "initContainers", "containers")]
        if not isinstance(pod, AssembledPod):
            return self.raw
        return pod.spec, [(container.raw, container.limits, container.requests) for container in pod.containers]

    @property
    def launches(self) -> Launches:
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


def launches_of(containers: Iterable[Container]) -> Launches:
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
    others: Launches


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
        return [extracted for pod in self._pods if (extracted := pod()) is not None]

    def gpus(self, lookup: Lookup) -> GroupGpus:
        """Its GPUs. All calls for a group pass the same lookup."""
        if self._gpus is not None:
            return self._gpus
        total: int | None = 0
        most = count = 0
        first: Path | None = None
        others: list[tuple[Container, Launch]] = []
        for extracted in self.pods:
            amounts: dict[Path, int] = {}
            for request in GpuRequests(extracted.pod, lookup).positive:
                path = request.container.path
                amounts[path] = amounts.get(path, 0) + request.billionths // NANO
            if not amounts:
                others.extend(extracted.launches)
                continue
            made = extracted.count
            total = None if total is None or made is None else total + made * sum(amounts.values())
            count += 1 if made is None else made
            most = max(most, *amounts.values())
            first = extracted.path if first is None else first
        self._gpus = GroupGpus(total, most, count, first, tuple(others))
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


_WHOLE: Mapping[Whole, Callable[[Members, Path], Pod]] = {
    "template": Pod.of_template,
    "podSpec": Pod.of_spec,
    "container": Pod.of_container,
    "resources": lambda raw, path: assembled(raw, path, Assembly((Containers("", "resources"),)), NOTHING),
}


_AMOUNTS: Mapping[Form, Callable[[Members, Path], Iterable[Amount]]] = {
    "resources": resource_amounts,
    "step": partial(amounts_below, field="computeResources"),
    "trainer": partial(amounts_below, field="resourcesPerNode"),
    "spark": spark_amounts,
}
"""How the amounts of containers are read that are not in the API's own form.

`computeResources` are those of a step or a sidecar of Tekton v1; those of v1beta1 have `resources`.
`resourcesPerNode` are those of each node of a TrainJob (kubeflow/trainer, `Trainer`), beside which image, command,
arguments and variables replace those of the runtime's container named `node`.
"""


def assembled(raw: Members, path: Path, assembly: Assembly, manifest: Members) -> AssembledPod:
    """The pod at a path of an object. Raises MalformedError."""
    containers = tuple(chain.from_iterable(_containers_of(raw, path, part) for part in assembly.parts))
    places = list(fields_around(path, assembly, manifest))
    return AssembledPod(containers, places, path, is_container=not assembly.around)


def _containers_of(raw: Members, path: Path, part: Containers) -> Iterator[Container]:
    """The containers of a part."""
    read = _AMOUNTS.get(part.form)
    pattern = steps(part.path)
    found: Iterator[tuple[Path, int | None, Members]]
    if EVERY in pattern:
        *outer, field, _ = pattern
        found = (
            ((*where, field), index, fields)
            for where, holder in walk(raw, tuple(outer), path)
            for index, fields in enumerate(elements(holder, field, where))
        )
    else:
        found = ((where, None, fields) for where, fields in walk(raw, pattern, path))
    for list_path, index, fields in found:
        own = NOTHING if part.form == "resources" else fields
        kind = SIDECAR if part.kind is INIT and fields.get("restartPolicy") == "Always" else part.kind
        container = FieldContainer(own, list_path, index, kind, part.name)
        if read is not None:
            container.state(read(fields, container.path))
        yield container


def fields_around(path: Path, holds: Whole | Assembly, manifest: Members) -> Iterator[tuple[Path, Members]]:
    """The mappings with fields of an assembled pod. They pass through the same elements as the path to the pod."""
    for around in holds.around if isinstance(holds, Assembly) else ():
        where = tuple(path[place] if step in REPEATED else step for place, step in enumerate(steps(around)))
        fields = at(manifest, where)
        if fields is not None:
            yield where, mapping(fields, where)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that holds pods, in any version.

    `versions` are the known ones, the newest first; `namespaced`: its objects live in namespaces. `suspended` leads to
    the fields that suspend it, `labels` to the labels that Kueue reads; None if Kueue does not queue the kind.
    `gets_default_queue`: Kueue's webhook adds the queue `default` where an object names none (kubernetes-sigs/kueue
    pkg/controller/jobs/job/job_webhook.go). `is_used_elsewhere`: another object makes pods of an object, and may choose
    their nodes. `has_open_nodes`: an object that it refers to, or a field that is not read, may choose them.
    """

    group: str
    kind: str
    paths: tuple[PodPath, ...]
    versions: tuple[str, ...] = ("v1",)
    namespaced: bool = True
    suspended: tuple[str, ...] = ("spec.suspend", "spec.runPolicy.suspend")
    labels: str | None = "metadata.labels"
    gets_default_queue: bool = False
    is_used_elsewhere: Condition = never
    has_open_nodes: Condition = never

    @property
    def resource(self) -> str:
        """Its name in the API's paths; `tests/crds` compares it with the published definitions."""
        return f"{self.kind.lower()}s"

    def deferral(self, manifest: Members) -> Deferral | None:
        """Why the nodes of an object's pods are chosen later; None if they are not."""
        if self.suspended and any(at(manifest, steps(path)) is True for path in self.suspended):
            return Deferral.SUSPENDED
        if self.is_used_elsewhere(manifest, ()):
            return Deferral.USED_ELSEWHERE
        labels = self.labels and at(manifest, steps(self.labels))
        if isinstance(labels, dict) and labels.get(QUEUE_LABEL):
            return Deferral.QUEUED
        if self.has_open_nodes(manifest, ()):
            return Deferral.OPEN
        return Deferral.DEFAULT if self.gets_default_queue else None


QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""The label by which Kueue suspends a workload, or gates a pod, when it is created (kubernetes-sigs/kueue)."""

Kinds = Mapping[tuple[str, str], Kind]
"""The kinds that hold pods, by API group and kind."""


def by_name(kinds: Iterable[Kind]) -> dict[tuple[str, str], Kind]:
    """Kinds by API group and kind."""
    return {(kind.group, kind.kind): kind for kind in kinds}


def _is_indexed(manifest: Members, path: Path) -> bool:
    """Whether the pods of a Job have ranks, from the path to its template: with `completionMode: Indexed`.

    Pods without ranks take work from a queue, each on its own (kubernetes/enhancements, KEP-2214).
    """
    return bool(at(manifest, (*path[:-1], "completionMode")) == "Indexed")


def _job(path: str) -> tuple[PodPath, ...]:
    """The path of a JobSpec. Pods with ranks work together."""
    return (PodPath(path, group="job", works_together=_is_indexed, count=of_job),)


_REPLICAS = PodPath("spec.template", count=counted("replicas", 1))
"""The path of `apps` and ReplicationController (defaults: kubernetes/kubernetes, `pkg/apis/apps/v1/defaults.go`)."""

BUILT_IN: Kinds = by_name(
    (
        Kind("", "Pod", (PodPath(""),), suspended=()),
        Kind("", "PodTemplate", (PodPath("template", count=unknown),)),
        Kind("", "ReplicationController", (_REPLICAS,)),
        Kind("apps", "ReplicaSet", (_REPLICAS,)),
        Kind("apps", "Deployment", (_REPLICAS,)),
        Kind("apps", "StatefulSet", (replace(_REPLICAS, group="set"),)),
        Kind("apps", "DaemonSet", (PodPath("spec.template", count=unknown),)),
        Kind("batch", "Job", _job("spec.template"), gets_default_queue=True),
        Kind(
            "batch",
            "CronJob",
            _job("spec.jobTemplate.spec.template"),
            suspended=("spec.jobTemplate.spec.suspend",),  # its own `suspend` only stops its schedule
            labels="spec.jobTemplate.metadata.labels",  # Kueue suspends its jobs, which do not get its labels
            gets_default_queue=True,
        ),
    )
)
"""The kinds of Kubernetes, each before those of its owners."""


def with_paths(kinds: Kinds, paths: Iterable[WorkloadPath]) -> Kinds:
    """Kinds, and those that the settings add. A path to pods that a kind has already adds nothing."""
    known = dict(kinds)
    for path in paths:
        name = path.group, path.kind
        kind = known.get(name) or Kind(path.group, path.kind, (), namespaced=path.scope == "Namespaced")
        added = PodPath(path.path, path.holds, count=unknown)
        if not any(added.meets(own) for own in kind.paths):
            kind = replace(kind, paths=(*kind.paths, added))
        known[name] = kind
    return known


def is_pod(group: str, kind: str) -> bool:
    """Whether the kind is the core group's Pod, the only one that the mutating hook receives."""
    return kind == "Pod" and not group


MOST_PODS = 4096
"""Pods that one object may hold. A custom object of 3 MiB could name a million, each to be checked on its own."""


def extract(kinds: Kinds, manifest: Members, group: str, kind: str) -> list[ExtractedPod]:
    """All pods of an object. Raises MalformedError, and TooManyPodsError for more than MOST_PODS."""
    known = kinds.get((group, kind))
    if known is None:
        return []
    is_itself = is_pod(group, kind)
    deferral = known.deferral(manifest)
    pods: list[ExtractedPod] = []
    groups: dict[tuple[str, Path], Group] = {}
    for place in known.paths:
        for path, raw in walk(manifest, place.steps) if place.path else (((), manifest),):
            if len(pods) == MOST_PODS:
                raise TooManyPodsError(path, f"an object may hold at most {MOST_PODS} pods")
            extracted = ExtractedPod(path, raw, place, manifest, is_itself, deferral)
            pods.append(extracted)
            if place.group and place.works_together(manifest, path):
                groups.setdefault((place.group, place.group_of(path)), Group()).add(extracted)
    if len(pods) > 1:
        _bound_shared(pods, manifest)
    return pods


MOST_SHARED = 65_536
"""The most values of fields that pods of one object share, counted once for every pod."""


def _bound_shared(pods: Iterable[ExtractedPod], manifest: Members) -> None:
    """Raise TooManyPodsError if many pods share many values, such as the affinity of a workflow with many templates.

    Each pod is checked with all of them: without a bound the work would grow with the pods times the fields.
    """
    sizes: dict[int, int] = {}
    total = 0
    for extracted in pods:
        path = extracted.path
        for where, fields in fields_around(path, extracted.place.holds, manifest):
            if where[: len(path)] == path:
                continue  # no other pod shares a mapping below the path
            if id(fields) not in sizes:
                sizes[id(fields)] = _size(fields[field] for field in SPEC_FIELDS if field in fields)
            total += sizes[id(fields)]
        if total > MOST_SHARED:
            raise TooManyPodsError(path, f"pods of an object may share at most {MOST_SHARED} values")


def _size(values: Iterable[object]) -> int:
    """The number of values below these. Of a key or a text, each further part of `_PART` characters counts as one."""
    count, left = 0, list(values)
    while left:
        value = left.pop()
        count += 1
        if isinstance(value, dict):
            left.extend(value.values())
            count += sum(len(key) // _PART for key in value)
        elif isinstance(value, list):
            left.extend(value)
        elif isinstance(value, str):
            count += len(value) // _PART
    return count


_PART = 512
"""Characters of text that count as one value: more than the longest key of a label has."""


class TooManyPodsError(MalformedError):
    """The object holds more pods than are checked, or they share too much. `path` leads to the first one beyond it."""

    def __init__(self, path: Path, problem: str) -> None:
        Exception.__init__(self, problem)
        self.path = path


def group_of(api_version: str) -> str:
    """The API group of an `apiVersion`; empty for the core group. A placeholder stands for its group, too."""
    group, slash, _ = api_version.rpartition("/")
    return group if slash or not is_placeholder(api_version) else api_version
