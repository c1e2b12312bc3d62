"""Which kinds hold pods, and where: a table of paths that end in a pod template, a pod spec or a container."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import MalformedError, Members, mapping
from webhook.policy.settings.settings import WorkloadPath
from webhook.policy.verdict import Path

EVERY = "*"
"""The step to every element of a list, or every member of a mapping."""

Holds = Literal["template", "podSpec", "container"]


@dataclass(frozen=True, slots=True)
class Place:
    """A path to pods. Its steps are keys, and EVERY."""

    steps: tuple[str, ...]
    holds: Holds = "template"


Table = Mapping[tuple[str, str], tuple[Place, ...]]
"""The places by API group and kind, whatever the version."""

_POD = (Place(()),)
_TEMPLATE = (Place(("spec", "template")),)

BUILT_IN: Table = {
    ("", "Pod"): _POD,
    ("", "PodTemplate"): (Place(("template",)),),
    ("", "ReplicationController"): _TEMPLATE,
    ("apps", "ReplicaSet"): _TEMPLATE,
    ("apps", "Deployment"): _TEMPLATE,
    ("apps", "StatefulSet"): _TEMPLATE,
    ("apps", "DaemonSet"): _TEMPLATE,
    ("batch", "Job"): _TEMPLATE,
    ("batch", "CronJob"): (Place(("spec", "jobTemplate", "spec", "template")),),
}


def table(paths: Iterable[WorkloadPath]) -> Table:
    """The built-in kinds and those of the settings."""
    kinds = dict(BUILT_IN)
    for path in paths:
        place = Place(steps(path.path), path.holds)
        kinds[path.group, path.kind] = (*kinds.get((path.group, path.kind), ()), place)
    return kinds


def steps(path: str) -> tuple[str, ...]:
    """The steps of a path as settings write it, such as `spec.jobs[*].template` or `spec.specs.*.template`."""
    return tuple(step for step in path.replace("[*]", ".*").split(".") if step)


class ExtractedPod:
    """A pod that an object holds. `raw` is what stands at its path."""

    __slots__ = ("path", "pod", "raw")

    def __init__(self, path: Path, raw: Members, holds: Holds) -> None:
        self.path = path
        self.raw = raw
        self.pod = _VIEWS[holds](raw, path)


_VIEWS = {"template": Pod.of_template, "podSpec": Pod.of_spec, "container": Pod.of_container}


MOST_PODS = 4096
"""Pods that one object may hold. A custom object of 3 MiB could name a million, each to be checked on its own."""


def pods(kinds: Table, group: str, kind: str, manifest: Members) -> list[ExtractedPod]:
    """All pods of an object. Raises MalformedError, and TooManyPodsError for more than MOST_PODS."""
    held: list[ExtractedPod] = []
    for place in kinds.get((group, kind), ()):
        for path, raw in _walk(manifest, place.steps, ()):
            if len(held) == MOST_PODS:
                raise TooManyPodsError(path)
            held.append(ExtractedPod(path, raw, place.holds))
    return held


class TooManyPodsError(MalformedError):
    """The object holds more pods than are checked. `path` leads to the first that is one too many."""

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


_SUSPENDED_AT: Mapping[str, tuple[str, ...]] = {"CronJob": ("spec", "jobTemplate", "spec", "suspend")}
_SUSPENDED = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))


def is_suspended(kind: str, manifest: Members) -> bool:
    """Whether the pods of a workload are made later, after a queue has chosen where they go.

    A CronJob's own `suspend` only stops its clock.
    """
    places = (_SUSPENDED_AT[kind],) if kind in _SUSPENDED_AT else _SUSPENDED
    return any(_at(manifest, place) is True for place in places)


def _at(node: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if not isinstance(node, dict):
            return None
        node = node.get(step)
    return node


def group_of(api_version: str) -> str:
    """The API group of an `apiVersion`; empty for the core group."""
    return api_version.rpartition("/")[0]
