"""Paths to the pods inside an object, what stands at their ends, and how many pods are made there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from webhook.policy.pods.pod import APP, INIT
from webhook.policy.pods.reading import MalformedError, Members, mapping
from webhook.policy.verdict import Path

EVERY = "[*]"
"""The step to every element of a list."""

MEMBER = "*"
"""The step to every member of a mapping."""

REPEATED = frozenset((EVERY, MEMBER))
"""The steps to all elements or members of what is there."""

PathPattern = tuple[str, ...]
"""Each step is a key, EVERY or MEMBER."""

Whole = Literal["template", "podSpec", "container", "resources"]
"""The end of a path of a setting: a PodTemplateSpec, a PodSpec, a container, or a container's resources."""

Form = Literal["container", "resources", "step", "trainer", "spark"]
"""The form of a container: the API's own, its bare resources, a step of Tekton (its `computeResources` count), the
trainer of a TrainJob (its `resourcesPerNode` count), or a role of Spark (its `gpu.quantity` counts)."""

PodCount = Callable[[Members, Path], int | None]
"""How many pods a controller makes from the pod at a path of an object; None if the object does not say."""

Condition = Callable[[Members, Path], bool]
"""Whether something is true of the pod at a path of an object."""


@lru_cache(maxsize=1024)
def steps(path: str) -> PathPattern:
    """The steps of a path as settings write it, such as `spec.jobs[*].template` or `spec.specs.*.template`."""
    return tuple(step for step in path.replace("[*]", ".[*]").split(".") if step)


def written(path: Path) -> str:
    """Steps as settings write them, the inverse of `steps`; the index of a list, too."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else step if step == EVERY else f".{step}"
    return text.removeprefix(".")


class Containers(NamedTuple):
    """Containers of an assembled pod: the path to them from its place, their form, and APP or INIT.

    Only the last step can be EVERY. `name` is the one that the controller gives a container, whatever the object says.
    """

    path: str
    form: Form = "container"
    kind: str = APP
    name: str = ""


INIT_CONTAINERS = Containers("initContainers[*]", kind=INIT)
CONTAINERS = (INIT_CONTAINERS, Containers("containers[*]"))
"""The containers of a PodSpec."""


class Assembly(NamedTuple):
    """A pod that a controller assembles from fields of its own.

    `around` leads, from the root of the object, to the mappings that hold fields of the pod's spec, such as
    `nodeSelector`; the fields of a later mapping replace those of an earlier one. Without any, another object has
    these fields.
    """

    parts: tuple[Containers, ...]
    around: tuple[str, ...] = ()

    @property
    def requests(self) -> Iterator[tuple[str, Form]]:
        """The paths from the place of the pod to all that may ask for resources, each with its form."""
        return ((part.path, part.form) for part in self.parts)


def one(_manifest: Members, _path: Path) -> int | None:
    """The count of a template from which one pod is made."""
    return 1


def unknown(_manifest: Members, _path: Path) -> int | None:
    """The count of a template when the object does not say how many pods are made from it."""
    return None


def always(_manifest: Members, _path: Path) -> bool:
    """The condition that is always met."""
    return True


def never(_manifest: Members, _path: Path) -> bool:
    """The condition that is never met."""
    return False


@dataclass(frozen=True, slots=True)
class PodPath:
    """A path to pods inside an object.

    `group` names the group of pods that work together, within the object; a pod without a group works alone, and so
    does one that does not meet `works_together`. `apart`: each element of the first list or mapping of the path has a
    group of its own. `count` is how many pods of one group are made from a template. `hides_shared_memory`: the
    controller mounts a volume at `/dev/shm` into the first container. `renders`: the controller replaces placeholders
    in texts of the template before it makes pods. It reads no placeholder in an amount of a resource
    (argoproj/argo-workflows#6939, tektoncd/pipeline#4080). `ranks`: every pod that asks for a GPU is a rank, or
    several, of one job that communicates through NCCL.
    """

    path: str
    holds: Whole | Assembly = "template"
    group: str = ""
    works_together: Condition = always
    apart: bool = False
    count: PodCount = one
    hides_shared_memory: Condition = never
    renders: bool = False
    ranks: bool = False

    @property
    def steps(self) -> PathPattern:
        return steps(self.path)

    def group_of(self, path: Path) -> Path:
        """What the paths to the pods of one group have in common, from one of them."""
        ends = (end for end, step in enumerate(self.steps, 1) if step in REPEATED)
        return path[: next(ends, 0)] if self.apart else ()

    def meets(self, other: PodPath) -> bool:
        """Whether both can lead to the same node, or one to the containers in the pods of the other."""
        mine, theirs = self._pods, other._pods
        deeper = max(mine, theirs, key=len)[min(len(mine), len(theirs)) :]
        return deeper in _WITHIN and all(
            step == others or step in REPEATED or others in REPEATED for step, others in zip(mine, theirs, strict=False)
        )

    @property
    def _pods(self) -> PathPattern:
        """The steps to the pod specs or containers: a template holds its pod spec in `spec`."""
        return (*self.steps, "spec") if self.holds == "template" else self.steps


_WITHIN = ((), ("containers", EVERY), ("initContainers", EVERY))
"""The steps from a pod spec to itself and to its containers."""


def walk(node: Any, remaining: PathPattern, path: Path = ()) -> Iterator[tuple[Path, Members]]:
    """Every mapping to which the steps lead from a node, with its path. Raises MalformedError."""
    for depth, step in enumerate(remaining):
        if node is None:
            return
        if step in REPEATED:
            if not isinstance(node, list | dict):
                raise MalformedError(path, "a list", node)
            for key, element in enumerate(node) if isinstance(node, list) else node.items():
                yield from walk(element, remaining[depth + 1 :], (*path, key))
            return
        node = mapping(node, path).get(step)
        path = (*path, step)
    if node is not None:
        yield path, mapping(node, path)


def at(node: Any, path: Path) -> Any:
    """The value at a path below a node; None if there is none."""
    for step in path:
        if isinstance(node, dict):
            node = node.get(step)
        elif isinstance(node, list) and isinstance(step, int) and step < len(node):
            node = node[step]
        else:
            return None
    return node


MOST = 2**31 - 1
"""The greatest number that a field with a number of pods holds: each is an int32."""


def number(node: Any, field: str, default: int | None = None) -> int | None:
    """The number of pods that a field below a node states: the default if it is absent or null.

    Text or a negative number makes the count unknown, None: it never fails, since the API server rejects such an
    object, or the controller does.
    """
    value = at(node, steps(field))
    if value is None:
        return default
    return value if type(value) is int and 0 <= value <= MOST else None


def product(*factors: int | None) -> int | None:
    """The product of numbers; None if one is unknown."""
    result = 1
    for factor in factors:
        if factor is None:
            return None
        result *= factor
    return result


def counted(field: str, default: int | None = None, *, up: int = 1, unless: str = "", alone: bool = False) -> PodCount:
    """The count that a field states, from the mapping `up` steps above the pod. Its docstring is on the reference page.

    It is unknown if the object sets the field at the path `unless`. `alone`: it is 1 without the first step.
    """
    first, *_ = steps(field)

    def count(manifest: Members, path: Path) -> int | None:
        holder = at(manifest, path[: len(path) - up])
        if unless and at(manifest, steps(unless)) not in (None, False):
            return None
        return 1 if alone and at(holder, (first,)) is None else number(holder, field, default)

    otherwise = "" if default is None else f", {default} by default"
    count.__doc__ = f"The pods of a template: `{field}`{f', 1 without `{first}`' if alone else otherwise}."
    return count


def sets(*paths: str) -> Condition:
    """The condition that an object sets a field at one of these paths."""

    def found(node: Any, remaining: PathPattern) -> bool:
        if not remaining:
            return bool(node)
        step, *after = remaining
        nodes = node if step == EVERY and isinstance(node, list) else [at(node, (step,))]
        return any(found(one, tuple(after)) for one in nodes)

    return lambda manifest, _path: any(found(manifest, steps(path)) for path in paths)


def of_job(manifest: Members, path: Path) -> int | None:
    """The pods that a Job runs at a time, from the path to its template: `parallelism`, but at most `completions`.

    Source: kubernetes/kubernetes, `pkg/controller/job/job_controller.go`; `parallelism` is 1 by default.
    """
    spec = at(manifest, path[:-1])
    parallelism = number(spec, "parallelism", 1)
    completions = number(spec, "completions", parallelism)
    return None if parallelism is None or completions is None else min(parallelism, completions)
