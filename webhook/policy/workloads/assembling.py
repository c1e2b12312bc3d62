"""The assembly of a pod from the fields of a custom kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from webhook.policy.pods.custom import (
    FIELDS,
    AssembledPod,
    BareResources,
    FieldContainer,
    Place,
    SparkContainer,
    Step,
    StepTemplate,
    Trainer,
)
from webhook.policy.pods.pod import INIT, SIDECAR, Container
from webhook.policy.pods.reading import Members, elements, mapping
from webhook.policy.verdict import Path
from webhook.policy.workloads.paths import EVERY, Assembly, Form, Part, Steps, at, walk

_FORMS: Mapping[Form, type[FieldContainer]] = {
    "container": FieldContainer,
    "resources": BareResources,
    "step": Step,
    "trainer": Trainer,
    "spark": SparkContainer,
}


def assembled(raw: Members, path: Path, assembly: Assembly, manifest: Members) -> AssembledPod:
    """The pod at a path of an object. Raises MalformedError."""
    containers = tuple(one for part in assembly.parts for one in _containers(raw, path, part))
    places = list(_places(path, assembly, manifest))
    return AssembledPod(containers, places, path, is_container=not assembly.around)


def _containers(raw: Members, path: Path, part: Part) -> Iterator[Container]:
    """The containers of a part, each with what it inherits."""
    form = _FORMS[part.form]
    template = None if part.template is None else _template(raw, path, part.template)
    for number, (held, list_path, place) in enumerate(_held(raw, path, part.steps)):
        container = form(held, list_path, place, _kind(part, held), part.name)
        if template is not None and isinstance(container, Step) and number < _MOST_INHERITING:
            container.inherit(template)
        yield container


_MOST_INHERITING = 1024
"""Steps of a pod that inherit from a template: more than a node can run. An empty step has two bytes."""


def _template(raw: Members, path: Path, steps: Steps) -> StepTemplate | None:
    return next((StepTemplate(held, where) for where, held in walk(raw, steps, path)), None)


def _held(raw: Members, path: Path, steps: Steps) -> Iterator[tuple[Members, Path, str | int | None]]:
    """The mappings of containers, each with the path of its list and its place in it, or with its own path."""
    if EVERY not in steps:
        for where, held in walk(raw, steps, path):
            yield held, where, None
        return
    *outer, field, _ = steps
    for where, holder in walk(raw, tuple(outer), path):
        for index, held in enumerate(elements(holder, field, where)):
            yield held, (*where, field), index


def _kind(part: Part, held: Members) -> str:
    return SIDECAR if part.kind is INIT and held.get("restartPolicy") == "Always" else part.kind


def _places(path: Path, assembly: Assembly, manifest: Members) -> Iterator[Place]:
    """The mappings with fields of the pod's spec. They pass through the same elements as the path to the pod."""
    for steps in assembly.around:
        where = tuple(path[place] if step == EVERY else step for place, step in enumerate(steps))
        held = at(manifest, where)
        if held is not None:
            yield where, mapping(held, where)


class SharedSize:
    """The size of the fields that several pods of an object share, counted once for every pod.

    Each pod is checked with all of them: without a bound the work would grow with the pods times the fields.
    """

    __slots__ = ("_manifest", "_sizes", "total")

    def __init__(self, manifest: Members) -> None:
        self._manifest = manifest
        self._sizes: dict[int, int] = {}
        self.total = 0

    def add(self, path: Path, assembly: Assembly) -> None:
        """Count what the pod at a path shares with others: the mappings that are not below it."""
        for where, held in _places(path, assembly, self._manifest):
            if where[: len(path)] != path:
                if id(held) not in self._sizes:
                    self._sizes[id(held)] = _size(held[field] for field in FIELDS if field in held)
                self.total += self._sizes[id(held)]


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
