"""The kinds that hold pods, and the paths to their pod templates, pod specs and containers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import MalformedError, Members, mapping
from webhook.policy.settings.settings import WorkloadPath
from webhook.policy.verdict import Path

EVERY = "*"
"""The step to every element of a list, or every member of a mapping."""

Holds = Literal["template", "podSpec", "container"]


@dataclass(frozen=True, slots=True)
class PodPath:
    """A path to pods inside an object. Each step is a key, or EVERY."""

    steps: tuple[str, ...]
    holds: Holds = "template"


Kinds = Mapping[tuple[str, str], tuple[PodPath, ...]]
"""The paths to pods by API group and kind, in any version."""

_POD = (PodPath(()),)
_TEMPLATE = (PodPath(("spec", "template")),)

BUILT_IN: Kinds = {
    ("", "Pod"): _POD,
    ("", "PodTemplate"): (PodPath(("template",)),),
    ("", "ReplicationController"): _TEMPLATE,
    ("apps", "ReplicaSet"): _TEMPLATE,
    ("apps", "Deployment"): _TEMPLATE,
    ("apps", "StatefulSet"): _TEMPLATE,
    ("apps", "DaemonSet"): _TEMPLATE,
    ("batch", "Job"): _TEMPLATE,
    ("batch", "CronJob"): (PodPath(("spec", "jobTemplate", "spec", "template")),),
}


def kinds_with(paths: Iterable[WorkloadPath]) -> Kinds:
    """The built-in kinds and those that the settings add."""
    kinds = dict(BUILT_IN)
    for path in paths:
        added = PodPath(steps(path.path), path.holds)
        kinds[path.group, path.kind] = (*kinds.get((path.group, path.kind), ()), added)
    return kinds


def steps(path: str) -> tuple[str, ...]:
    """The steps of a path as settings write it, such as `spec.jobs[*].template` or `spec.specs.*.template`."""
    return tuple(step for step in path.replace("[*]", ".*").split(".") if step)


def is_pod(group: str, kind: str) -> bool:
    """Whether the kind is the core group's Pod, the only one that the mutating hook receives."""
    return kind == "Pod" and not group


class Deferral(Enum):
    """Why the nodes of a pod are chosen later. The value is the reason in reports."""

    SUSPENDED = "suspended: the nodes of its pods are chosen when it resumes"
    QUEUED = "queued: a queue chooses the nodes of its pods"
    GATED = "gated: its nodes are chosen when its scheduling gates are removed"


class ExtractedPod:
    """A pod that an object holds. `raw` is the value at its path.

    `is_pod`: the object is a Pod, not a workload with a template. `deferral`: why the nodes of its
    pods are chosen later, if they are.
    """

    __slots__ = ("deferral", "is_pod", "path", "pod", "raw")

    def __init__(self, path: Path, raw: Members, holds: Holds, *, is_pod: bool, deferral: Deferral | None) -> None:
        self.path = path
        self.raw = raw
        self.is_pod = is_pod
        self.deferral = deferral
        self.pod = _VIEWS[holds](raw, path)


_VIEWS = {"template": Pod.of_template, "podSpec": Pod.of_spec, "container": Pod.of_container}


MOST_PODS = 4096
"""Pods that one object may hold. A custom object of 3 MiB could name a million, each to be checked on its own."""


def extract(kinds: Kinds, manifest: Members, group: str, kind: str) -> list[ExtractedPod]:
    """All pods of an object. Raises MalformedError, and TooManyPodsError for more than MOST_PODS."""
    paths = kinds.get((group, kind))
    if paths is None:
        return []
    is_itself = is_pod(group, kind)
    deferral = _deferral(group, kind, manifest, is_itself=is_itself)
    found: list[ExtractedPod] = []
    for path in paths:
        for where, raw in _walk(manifest, path.steps, ()):
            if len(found) == MOST_PODS:
                raise TooManyPodsError(where)
            found.append(ExtractedPod(where, raw, path.holds, is_pod=is_itself, deferral=deferral))
    return found


class TooManyPodsError(MalformedError):
    """The object holds more pods than are checked. `path` leads to the first one beyond the limit."""

    def __init__(self, path: Path) -> None:
        Exception.__init__(self, f"an object may hold at most {MOST_PODS} pods")
        self.path = path


def _walk(node: Any, remaining: tuple[str, ...], path: Path) -> Iterator[tuple[Path, Members]]:
    if node is None:
        return
    if not remaining:
        yield path, mapping(node, path)
        return
    step, rest = remaining[0], remaining[1:]
    if step != EVERY:
        yield from _walk(mapping(node, path).get(step), rest, (*path, step))
    elif isinstance(node, list):
        for index, element in enumerate(node):
            yield from _walk(element, rest, (*path, index))
    elif isinstance(node, dict):
        for key, element in node.items():
            yield from _walk(element, rest, (*path, key))
    else:
        raise MalformedError(path, "a list", node)


_METADATA = ("metadata",)
_QUEUED_AT: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("batch", "CronJob"): ("spec", "jobTemplate", "metadata"),  # Kueue suspends its jobs, which do not get its labels
}
_SUSPENDED_AT: Mapping[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("batch", "CronJob"): (("spec", "jobTemplate", "spec", "suspend"),),  # its own `suspend` only stops its schedule
}
_SUSPENDED = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))


QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""The label by which Kueue suspends a workload, or gates a pod, when it is created (kubernetes-sigs/kueue)."""


def _deferral(group: str, kind: str, manifest: Members, *, is_itself: bool) -> Deferral | None:
    if not is_itself and is_suspended(group, kind, manifest):
        return Deferral.SUSPENDED
    metadata = _QUEUED_AT.get((group, kind), _METADATA)
    return Deferral.QUEUED if _at(manifest, (*metadata, "labels", QUEUE_LABEL)) else None


def is_suspended(group: str, kind: str, manifest: Members) -> bool:
    """Whether a workload is suspended, so that its pods are created later."""
    return any(_at(manifest, path) is True for path in _SUSPENDED_AT.get((group, kind), _SUSPENDED))


def _at(node: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if not isinstance(node, dict):
            return None
        node = node.get(step)
    return node


def group_of(api_version: str) -> str:
    """The API group of an `apiVersion`; empty for the core group."""
    return api_version.rpartition("/")[0]
