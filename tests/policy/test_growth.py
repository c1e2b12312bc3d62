"""CPU time and memory grow linearly with every list, mapping and text of a pod or workload, alone and in pairs.

The objects of all fixtures grow, so that a check that reads a new field is covered by its fixtures.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.fixture import load_all
from tests.strategies.configurations import EVALUATORS
from webhook.admission import BadReviewError, Hook, respond
from webhook.policy.context import RequestContext
from webhook.policy.pods.reading import MalformedError
from webhook.policy.workloads.kinds import group_of
from webhook.policy.workloads.presets import PRESETS

Json = dict[str, Any]
Place = tuple[str | int, ...]

UNITS = (
    "x",
    "1",
    "/.",
    "0=1G,",
    " ",
    "-tp ",
    "nvidia.com/gpu=",
    "$(",
    '"',
    "(",
    "\n",
    "'",
    "<<A\n",
    "; ",
    "\\",
    "--np 1 ",
)
"""What texts consist of: shapes that a pattern, a command line or a script could stumble over."""

EVALUATOR = EVALUATORS["steering", "mixed"]
KINDS = [kind for preset in PRESETS for kind in preset.kinds]


class Member(NamedTuple):
    """A member of an object that grows: its place, and the unit of a text, or whether its own content is repeated."""

    place: Place
    unit: str | bool


class Growth(NamedTuple):
    """An object in which some members grow together."""

    object: Json
    members: tuple[Member, ...]

    def grown(self, count: int) -> Json:
        """The object in which each member has about this many elements. The outer one grows first."""
        made: Json = copied(self.object)
        for member in sorted(self.members, key=lambda one: len(one.place)):
            grow(made, member, count)
        return made

    @property
    def enough(self) -> int:
        """How many elements suffice: in pairs, and in a list or mapping, fewer than units of a text."""
        return 150 if len(self.members) > 1 else 4000 if isinstance(self.members[0].unit, str) else 500


def copied(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def grow(made: Json, member: Member, count: int) -> None:
    *above, last = member.place
    holder: Any = made
    for step in above:
        holder = holder[step]
    value = holder[last]
    if isinstance(value, str):
        value += str(member.unit) * count
    elif isinstance(value, list):
        value = [*value, *(element(value, number) for number in range(count))]
    elif member.unit and value:
        items = list(value.items())
        value |= {f"{items[n % len(items)][0]}{n}": copied(items[n % len(items)][1]) for n in range(count)}
    else:
        value |= {f"k{number}": "1" for number in range(count)}
    holder[last] = value


def element(value: list[Any], number: int) -> Any:
    """Another element of a list, with a name of its own."""
    found = copied(value[number % len(value)]) if value else f"v{number}"
    if isinstance(found, dict) and isinstance(found.get("name"), str):
        found["name"] = f"{found['name']}-{number}"
    return f"{found}{number}" if isinstance(found, str) else found


def nodes(node: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """The lists, mappings and texts of an object, with the first two elements of each list."""
    if place:
        yield place, node
    steps = node.items() if isinstance(node, dict) else enumerate(node[:2]) if isinstance(node, list) else ()
    for step, value in steps:
        if place or step not in ("apiVersion", "kind"):
            yield from nodes(value, (*place, step))


@cache
def objects() -> tuple[Json, ...]:
    """The objects of the fixtures, the largest first."""
    return tuple(sorted((one.object for one in load_all()), key=lambda one: -len(msgspec.json.encode(one))))


def containers(one: Json) -> Iterator[Member]:
    for place, value in nodes(one):
        if isinstance(value, list | dict):
            yield Member(place, True)
        if isinstance(value, dict):
            yield Member(place, False)


def singles(one: Json) -> Iterator[tuple[Member, ...]]:
    """Each list, mapping and text."""
    yield from ((member,) for member in containers(one))
    yield from ((Member(place, unit),) for place, held in nodes(one) if isinstance(held, str) for unit in UNITS)


def pairs(one: Json) -> Iterator[tuple[Member, ...]]:
    """Each two lists or mappings."""
    return combinations([member for member in containers(one) if member.unit], 2)


def one_in(every: int, grown: Callable[[Json], Iterator[tuple[Member, ...]]]) -> Sequence[Growth]:
    """One in so many of all growths of each kind."""
    found: dict[tuple[object, ...], Growth] = {}
    for one in objects():
        for members in grown(one):
            places = [(*("[]" if isinstance(step, int) else step for step in place), unit) for place, unit in members]
            found.setdefault((group_of(one["apiVersion"]), one["kind"], *places), Growth(one, members))
    return list(found.values())[::every]


Answer = Callable[[Json, bytes], object]


def review(one: Json) -> bytes:
    group, _, version = one["apiVersion"].rpartition("/")
    request = {
        "uid": "5f6f3a1c-6a0b-4a37-9c1b-8a3f4f1f5f11",
        "kind": {"group": group, "version": version, "kind": one["kind"]},
        "operation": "CREATE",
        "namespace": "team-a",
        "name": "grown",
        "userInfo": {"username": "mallory", "groups": ["system:authenticated"]},
        "object": one,
    }
    return msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


def by_server(one: Json, body: bytes) -> object:
    """What the server answers; its bounds on structure refuse some."""
    try:
        return respond(body, Hook.MUTATE if one["kind"] == "Pod" else Hook.VALIDATE, EVALUATOR).body()
    except BadReviewError:
        return None


def by_command(one: Json, _: bytes) -> object:
    """What the command line finds."""
    try:
        return EVALUATOR.evaluate(one, group_of(one["apiVersion"]), one["kind"], RequestContext("team-a"))
    except MalformedError:
        return None


class Measured(NamedTuple):
    """CPU seconds or bytes of memory that an answer takes, and the bytes of the object as JSON."""

    cost: float
    size: int
    is_harmless: bool


def seconds(growth: Growth, count: int, answer: Answer) -> Measured:
    made = growth.grown(count)
    body = review(made)
    gc.disable()  # it runs at some sizes only
    try:
        start = time.process_time()
        answer(made, body)
        taken = time.process_time() - start
    finally:
        gc.enable()
    return Measured(taken, len(body), taken < 0.004)


def memory(growth: Growth, count: int, answer: Answer) -> Measured:
    """The peak of memory. The bounds of the server cover eight bytes for each of the object."""
    made = growth.grown(count)
    body = review(made)
    tracemalloc.start()
    try:
        answer(made, body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return Measured(peak, len(body), peak <= 8 * len(body))


TOLERATED = 2.5
"""For each byte, linear work costs the same at each size, and quadratic work four times as much at four times."""


def is_linear(growth: Growth, answer: Answer, measured: Callable[[Growth, int, Answer], Measured]) -> bool:
    """Compare a size with four times the size, the best of several runs.

    What shows at one size only is a step, such as that of a table that Python enlarges.
    """
    for count in (growth.enough, 4 * growth.enough):
        for _ in range(5):
            large = measured(growth, 4 * count, answer)
            small = large if large.is_harmless else min(measured(growth, count, answer) for _ in range(3))
            if large.is_harmless or large.cost / large.size <= TOLERATED * small.cost / small.size:
                return True
    return False


def superlinear(growths: Sequence[Growth], measured: Callable[[Growth, int, Answer], Measured]) -> list[object]:
    return [
        (growth.object["kind"], growth.members, answer.__name__)
        for growth in growths
        for answer in (by_server, by_command)
        if not is_linear(growth, answer, measured)
    ]


def test_pods_and_each_kind_of_a_preset_grow() -> None:
    grown = {(group_of(one["apiVersion"]), one["kind"]) for one in objects()}
    # Kinds with the same paths grow alike.
    assert {one.paths for one in KINDS} == {one.paths for one in KINDS if (one.group, one.kind) in grown}
    of_pods = {growth.members[0].place for growth in one_in(1, singles) if growth.object["kind"] == "Pod"}
    assert len(of_pods) > 150


def test_all_lists_mappings_and_texts_grow() -> None:
    one = {"apiVersion": "v1", "kind": "A", "spec": {"a": [{"b": "c"}], "d": "e"}}
    growth = Growth(one, (Member(("spec", "a"), True), Member(("spec", "a", 0, "b"), "x"), Member(("spec",), False)))
    assert growth.grown(2)["spec"] == {
        **{"a": [{"b": "cxx"}, {"b": "c"}, {"b": "c"}], "d": "e"},
        **{"k0": "1", "k1": "1"},
    }
    assert Growth(one, (Member(("spec",), True),)).grown(2)["spec"].keys() == {"a", "d", "a0", "d1"}


@pytest.mark.slow
def test_cpu_time_is_linear_in_some_members_and_pairs() -> None:
    assert superlinear((*one_in(100, singles), *one_in(300, pairs)), seconds) == []


@pytest.mark.slow
@pytest.mark.exhaustive
def test_cpu_time_is_linear_in_more_members_and_pairs() -> None:
    assert superlinear((*one_in(20, singles), *one_in(40, pairs)), seconds) == []


@pytest.mark.slow
@pytest.mark.exhaustive
def test_memory_is_linear_in_members_of_each_kind() -> None:
    assert superlinear(one_in(40, singles), memory) == []


GROWING = Growth({"apiVersion": "v1", "kind": "A", "items": ["a"]}, (Member(("items",), True),))


@pytest.mark.slow
def test_quadratic_growth_is_detected() -> None:
    # Pure Python, since copies of short lists are below the harmless bound on a fast machine.
    assert not is_linear(GROWING, lambda made, _: sum(1 for _ in made["items"] for _ in made["items"]), seconds)
    assert is_linear(GROWING, lambda made, _: sum(1 for _ in made["items"] for _ in range(500)), seconds)
    assert not is_linear(GROWING, lambda made, _: [0] * len(made["items"]) ** 2, memory)
    assert is_linear(GROWING, lambda made, _: [0] * len(made["items"]) * 100, memory)
