"""The kinds that hold pods, and the extraction of the pods of an object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from webhook.policy.pods.custom import FIELDS
from webhook.policy.pods.reading import MalformedError, Members, is_placeholder
from webhook.policy.verdict import Path
from webhook.policy.workloads.extracted import Deferral, ExtractedPod, assign_groups, fields_around
from webhook.policy.workloads.paths import (
    Assembly,
    Condition,
    PodPath,
    at,
    never,
    of_job,
    replicas,
    steps,
    unknown,
    walk,
)

if TYPE_CHECKING:
    from webhook.policy.settings.elements import WorkloadPath


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
    suspended: tuple[Path, ...] = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))
    labels: Path | None = ("metadata", "labels")
    gets_default_queue: bool = False
    is_used_elsewhere: Condition = never
    has_open_nodes: Condition = never

    @property
    def resource(self) -> str:
        """Its name in the API's paths; `tests/crds` compares it with the published definitions."""
        return f"{self.kind.lower()}s"

    @property
    def has_bare_amounts(self) -> bool:
        """Whether some of its amounts stand below a bare name, such as `gpu`."""
        held = (path.holds for path in self.paths)
        return any(form == "gpus" for one in held if isinstance(one, Assembly) for _, form in one.requests)

    def deferral(self, manifest: Members) -> Deferral | None:
        """Why the nodes of an object's pods are chosen later; None if they are not."""
        if self.suspended and any(at(manifest, path) is True for path in self.suspended):
            return Deferral.SUSPENDED
        if self.is_used_elsewhere(manifest, ()):
            return Deferral.USED_ELSEWHERE
        labels = self.labels and at(manifest, self.labels)
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


_REPLICAS = (PodPath(("spec", "template"), count=replicas(1)),)
"""The path of `apps` and ReplicationController (defaults: kubernetes/kubernetes, `pkg/apis/apps/v1/defaults.go`)."""

_JOB_OF_CRON_JOB = ("spec", "jobTemplate")


def _is_indexed(manifest: Members, path: Path) -> bool:
    """Whether the pods of a Job have ranks, from the path to its template: with `completionMode: Indexed`.

    Pods without ranks take work from a queue, each on its own (kubernetes/enhancements, KEP-2214).
    """
    return bool(at(manifest, (*path[:-1], "completionMode")) == "Indexed")


def _job(*spec: str) -> tuple[PodPath, ...]:
    """The path of a JobSpec. Pods with ranks work together."""
    return (PodPath((*spec, "template"), group="job", works_together=_is_indexed, count=of_job),)


BUILT_IN: Kinds = by_name(
    (
        Kind("", "Pod", (PodPath(()),), suspended=()),
        Kind("", "PodTemplate", (PodPath(("template",), count=unknown),)),
        Kind("", "ReplicationController", _REPLICAS),
        Kind("apps", "ReplicaSet", _REPLICAS),
        Kind("apps", "Deployment", _REPLICAS),
        Kind("apps", "StatefulSet", (replace(_REPLICAS[0], group="set"),)),
        Kind("apps", "DaemonSet", (PodPath(("spec", "template"), count=unknown),)),
        Kind("batch", "Job", _job("spec"), gets_default_queue=True),
        Kind(
            "batch",
            "CronJob",
            _job(*_JOB_OF_CRON_JOB, "spec"),
            suspended=((*_JOB_OF_CRON_JOB, "spec", "suspend"),),  # its own `suspend` only stops its schedule
            labels=(*_JOB_OF_CRON_JOB, "metadata", "labels"),  # Kueue suspends its jobs, which do not get its labels
            gets_default_queue=True,
        ),
    )
)


def with_paths(kinds: Kinds, paths: Iterable[WorkloadPath]) -> Kinds:
    """Kinds, and those that the settings add. A path to pods that a kind has already adds nothing."""
    known = dict(kinds)
    for path in paths:
        name = path.group, path.kind
        kind = known.get(name) or Kind(path.group, path.kind, (), namespaced=path.scope == "Namespaced")
        added = PodPath(steps(path.path), path.holds, count=unknown)
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
    found: list[ExtractedPod] = []
    for place in known.paths:
        for path, raw in walk(manifest, place.steps) if place.steps else (((), manifest),):
            if len(found) == MOST_PODS:
                raise TooManyPodsError(path, f"an object may hold at most {MOST_PODS} pods")
            found.append(ExtractedPod(path, raw, place, manifest, is_itself, deferral))
    if not is_itself:
        assign_groups(found)
    if len(found) > 1:
        _bound_shared(found, manifest)
    return found


MOST_SHARED = 65_536
"""The most values of fields that pods of one object share, counted once for every pod."""


def _bound_shared(found: Iterable[ExtractedPod], manifest: Members) -> None:
    """Raise TooManyPodsError if many pods share many values, such as the affinity of a workflow with many templates.

    Each pod is checked with all of them: without a bound the work would grow with the pods times the fields.
    """
    sizes: dict[int, int] = {}
    total = 0
    for extracted in found:
        path = extracted.path
        for where, held in fields_around(path, extracted.place.holds, manifest):
            if where[: len(path)] == path:
                continue  # no other pod shares a mapping below the path
            if id(held) not in sizes:
                sizes[id(held)] = _size(held[field] for field in FIELDS if field in held)
            total += sizes[id(held)]
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
