"""Pods in which any member that the policy reads is as large as wanted.

Which members there are to grow is not written down here. A recording mapping sees what the policy reads of a pod; each
member it asks for in vain is given by the schema of the API, until it asks for nothing new. So a check that reads a new
field is covered without a change here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from tests.strategies.configurations import EVALUATORS, NAMESPACE
from tests.strategies.schema import fields
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.patch import build, verify
from webhook.policy.context import RequestContext

Json = dict[str, Any]
Grow = Callable[[Json, int], None]
Place = tuple[str, ...]
"""The way to a member; `[]` stands for the elements of a list, `*` for the members of a mapping of texts."""

GPU = "nvidia.com/gpu"
PINNED = "gpushare-webhook/pinned-device-memory-limit"
CONFIGURATIONS = [
    ("defaults", "unknown"),
    ("steering", "mixed"),
    ("void devices", "shared"),
    ("baseline", "mixed"),
]
ORIGINS = [
    RequestContext(NAMESPACE, hostpath=True, groups=()),
    RequestContext(NAMESPACE, is_final_hook=True, hostpath=True, groups=()),
]

KEYS = {
    ("metadata", "annotations"): "gpushare-webhook/a{}",
    ("spec", "containers", "[]", "resources", "limits"): "nvidia.com/mig-{}",
    ("spec", "initContainers", "[]", "resources", "limits"): "nvidia.com/mig-{}",
}
"""Names that the policy does not pass over, for the mappings in which only some names count."""

TEXTS = {
    "mountPath": "/mps/nvidia.com/gpu/pipe/{}",
    "path": "/run/nvidia/mps/nvidia.com/gpu/pipe/{}",
    "operator": "NotIn",
    "effect": "NoSchedule",
}
"""Texts that lead further into the policy than others do, by the member that holds them."""


class Recorded(dict[str, Any]):
    """A mapping that notes the members that are read, also those it lacks."""

    place: Place = ()
    reads: set[Place] = set()  # noqa: RUF012 - one for all mappings of a pod

    def _note(self, key: object) -> None:
        if isinstance(key, str):
            self.reads.add((*self.place, key))

    def get(self, key: Any, default: Any = None) -> Any:
        self._note(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return super().__getitem__(key)


def recorded(value: Any, place: Place, reads: set[Place]) -> Any:
    if isinstance(value, list):
        return [recorded(element, (*place, "[]"), reads) for element in value]
    if isinstance(value, dict):
        made = Recorded({key: recorded(member, (*place, key), reads) for key, member in value.items()})
        made.place, made.reads = place, reads
        return made
    return value


_LIST = re.compile(r"[Ll]ist\[(.+)\]")
_MAPPING = re.compile(r"[Dd]ict[(\[]str, (.+)[)\]]")


def kind_of(place: Place) -> str | None:
    """The type of a member by the schema of the API; None for what no schema knows."""
    kind: str | None = "V1Pod"
    for step in place:
        if kind is None:
            return None
        if step == "[]":
            found = _LIST.fullmatch(kind)
            kind = found[1] if found else None
        elif found := _MAPPING.fullmatch(kind):
            kind = found[1]
        else:
            kind = fields(kind).get(step) if kind.startswith("V1") else None
    return kind


def example(kind: str, place: Place) -> Any:
    """The least value of a type."""
    if found := _LIST.fullmatch(kind):
        return [example(found[1], (*place, "[]"))]
    if _MAPPING.fullmatch(kind):
        return {}
    if kind.startswith("V1"):
        return {"fieldOfTheFuture": 1}  # an empty mapping would end the reading
    return {"str": TEXTS.get(place[-1], "x").format(0), "int": 1, "bool": True}.get(kind, "1")


def give(pod: Json, place: Place, value: Any) -> None:
    """Put a value where it is missing, in the first element of each list on the way."""
    node: Any = pod
    for step in place[:-1]:
        node = node[0] if step == "[]" else node.setdefault(step, {})
    if place[-1] != "[]" and isinstance(node, dict):
        node.setdefault(place[-1], value)


def read_by_policy(pod: Json) -> set[Place]:
    reads: set[Place] = set()
    for configuration in CONFIGURATIONS:
        for origin in ORIGINS:
            answer(recorded(pod, (), reads), EVALUATORS[configuration], origin)
    return reads


def answer(pod: Json, evaluator: OfflineEvaluator, origin: RequestContext) -> None:
    verdict = evaluator.evaluate(pod, "", "Pod", origin)
    operations = build(pod, verdict.edits)
    assert verify(pod, operations) is None


@cache
def full_pod() -> bytes:
    """A pod with every member that the policy reads, as JSON."""
    container = {"name": "c", "resources": {"limits": {GPU: "1"}}, "env": [{"name": "CUDA_MPS_PIPE_DIRECTORY"}]}
    pod: Json = {
        "metadata": {"annotations": {PINNED: "1G"}},
        "spec": {"containers": [container], "initContainers": [container]},
    }
    for _ in range(12):
        before = msgspec.json.encode(pod)
        pod = msgspec.json.decode(before)
        for place in sorted(read_by_policy(pod) - UNGIVEN, key=lambda place: (len(place), place)):
            if (kind := kind_of(place)) is not None and place[:-1] != SELECTOR:
                give(pod, place, example(kind, place))
        if msgspec.json.encode(pod) == before:
            return before
    raise AssertionError("the policy reads ever more of the pod")


SELECTOR = ("spec", "nodeSelector")
"""A value for a label that tells kinds of nodes apart would keep the pod off all of them."""

UNGIVEN = {
    ("spec", "os"),
    ("spec", "os", "name"),
    ("spec", "nodeName"),
    ("spec", "runtimeClassName"),
    ("spec", "schedulingGates"),
    ("spec", "schedulingGates", "[]"),
    *((("spec", field, "[]", "env", "[]", "valueFrom")) for field in ("containers", "initContainers")),
}
"""Members that end the reading of others when they are there: each is grown in a pod of its own."""


def grow_elements(place: Place) -> Grow:
    """Give a list `count` elements. Those that the first one does not name already have names of their own."""

    def grow(pod: Json, count: int) -> None:
        found = at(pod, place)
        if found:
            found.extend([distinct(found[0], number) for number in range(1, count)])

    return grow


def distinct(element: Any, number: int) -> Any:
    if isinstance(element, str):
        return f"{element}{number}"
    copied = msgspec.json.decode(msgspec.json.encode(element))
    varied = "mountPath" if "mountPath" in element else "key" if "key" in element else "name"
    if element.get(varied) in REPEATED or varied not in element:
        return copied
    return {**copied, varied: f"{element[varied]}{number}"}


REPEATED = {"CUDA_MPS_PIPE_DIRECTORY"}
"""Names that lead further into the policy when many elements have them."""


def grow_members(place: Place) -> Grow:
    """Add `count` members to a mapping."""
    key = KEYS.get(place, "k{}")

    def grow(pod: Json, count: int) -> None:
        found = at(pod, place)
        if isinstance(found, dict):
            found.update({key.format(number): "1" for number in range(count)})

    return grow


def grow_text(place: Place, unit: str) -> Grow:
    """Repeat a unit `count` times in a text."""

    def grow(pod: Json, count: int) -> None:
        holder = at(pod, place[:-1])
        if isinstance(holder, dict) and place[-1] in holder:
            holder[place[-1]] = unit * count + "?"  # an end that no pattern expects

    return grow


def at(pod: Json, place: Place) -> Any:
    node: Any = pod
    for step in place:
        if node is None or (step == "[]" and not node):
            return None
        node = node[0] if step == "[]" else node.get(step)
    return node


UNITS = ("x", "1", "/.", "0=1G,", "$(")
"""What texts consist of: shapes that a pattern, a path, a list of limits or a reference could stumble over."""


def places() -> Iterator[tuple[Place, str]]:
    pod: Json = msgspec.json.decode(full_pod())
    for place in sorted(read_by_policy(pod) | UNGIVEN):
        kind = kind_of(place)
        if kind is not None:
            yield place, kind


@cache
def dimensions() -> Mapping[str, tuple[Place, Grow]]:
    """Everything that can be grown, by its name."""
    found: dict[str, tuple[Place, Grow]] = {}
    for place, kind in places():
        name = "/".join(place)
        if _LIST.fullmatch(kind):
            found[name] = place, grow_elements(place)
        elif _MAPPING.fullmatch(kind):
            found[name] = place, grow_members(place)
        elif kind == "str":
            for unit in UNITS:
                found[f"{name} of {unit}"] = place, grow_text(place, unit)
    return found


def grown(names: tuple[str, ...], count: int) -> Json:
    """A pod in which these members are so large; what lies in a list grows in its first element."""
    pod: Json = msgspec.json.decode(full_pod())
    for place, grow in sorted((dimensions()[name] for name in names), key=lambda found: len(found[0])):
        if place in UNGIVEN:
            give(pod, place, example(kind_of(place) or "str", place))
        grow(pod, count)
    return pod
