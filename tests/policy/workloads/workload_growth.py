"""Every list, mapping and text of the fixtures of workloads as large as wanted, alone and in pairs, and what it costs.

As a program it measures all of them, or those of some presets, and prints the highest cost for each preset:
`python -m tests.policy.workloads.workload_growth [PRESET...]`.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations, groupby
from typing import Any, NamedTuple

import msgspec

from tests.fixture import load_all
from tests.strategies.configurations import EVALUATORS
from webhook.admission import BadReviewError, Hook, respond
from webhook.policy.context import Origin
from webhook.policy.pods.reading import MalformedError
from webhook.policy.workloads.kinds import group_of
from webhook.policy.workloads.presets import PRESETS

Json = dict[str, Any]
Place = tuple[str | int, ...]

UNITS = ("x", "1", " ", "-tp ", "nvidia.com/gpu=", "$(", '"', "(", "\n", "'", "<<A\n", "; ", "\\", "--np 1 ")
"""What texts consist of: shapes that a pattern, a command line or a script could stumble over."""

_PRESET_OF = {(one.group, one.kind): preset.name for preset in PRESETS for one in preset.kinds}
_EVALUATOR = EVALUATORS["steering", "mixed"]
_ORIGIN = Origin("team-a")


class Member(NamedTuple):
    """A member of an object that grows: its place, and the unit of a text, or whether its own content is repeated."""

    place: Place
    unit: str | bool

    def __str__(self) -> str:
        named = "/".join(map(str, self.place))
        return f"{named} of {self.unit!r}" if isinstance(self.unit, str) else f"{named}{' repeated' * self.unit}"


class Growth(NamedTuple):
    """An object in which some members grow together."""

    object: Json
    members: tuple[Member, ...]

    @property
    def preset(self) -> str:
        """The preset of the kind; `built-in` for others."""
        return _PRESET_OF.get((group_of(self.object["apiVersion"]), self.object["kind"]), "built-in")

    @property
    def is_container(self) -> bool:
        """Whether a single list or mapping grows."""
        return len(self.members) == 1 and not isinstance(self.members[0].unit, str)

    def __str__(self) -> str:
        return f"{self.preset}, {self.object['kind']}: {' x '.join(map(str, self.members))}"

    def grown(self, count: int) -> Json:
        """The object in which each member has about this many elements. The outer one grows first."""
        made: Json = copied(self.object)
        for member in sorted(self.members, key=lambda one: len(one.place)):
            _grow(made, member, count)
        return made


def copied(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _grow(made: Json, member: Member, count: int) -> None:
    *above, last = member.place
    holder: Any = made
    for step in above:
        holder = holder[step]
    value = holder[last]
    if isinstance(value, str):
        value += str(member.unit) * count
    elif isinstance(value, list):
        value = [*value, *(_element(value, number) for number in range(count))]
    elif member.unit and value:
        items = list(value.items())
        value |= {f"{items[n % len(items)][0]}{n}": copied(items[n % len(items)][1]) for n in range(count)}
    else:
        value |= {f"k{number}": "1" for number in range(count)}
    holder[last] = value


def _element(value: list[Any], number: int) -> Any:
    """Another element of a list, with a name of its own."""
    element = copied(value[number % len(value)]) if value else f"v{number}"
    if isinstance(element, dict) and isinstance(element.get("name"), str):
        element["name"] = f"{element['name']}-{number}"
    return f"{element}{number}" if isinstance(element, str) else element


def _members(node: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """The lists, mappings and texts of an object, with the first two elements of each list."""
    if place:
        yield place, node
    if isinstance(node, dict):
        for key, value in node.items():
            if place or key not in ("apiVersion", "kind"):
                yield from _members(value, (*place, key))
    elif isinstance(node, list):
        for index, value in enumerate(node[:2]):
            yield from _members(value, (*place, index))


def _general(member: Member) -> tuple[object, ...]:
    """The member in whatever element of a list it is."""
    return (*("[]" if isinstance(step, int) else step for step in member.place), member.unit)


@cache
def objects() -> tuple[Json, ...]:
    """The objects of the fixtures of kinds that hold pods, the largest first."""
    found = [
        one.object
        for one in load_all()
        if one.folder == "workloads" or (one.group, one.object["kind"]) in _PRESET_OF or one.folder == "GPS023"
    ]
    return tuple(sorted(found, key=lambda one: -len(msgspec.json.encode(one))))


def singles() -> Iterator[Growth]:
    """Each list, mapping and text of each kind, once."""
    seen: set[tuple[object, ...]] = set()
    for one in objects():
        for member in (*_containers(one), *_texts(one)):
            yield from _unseen(seen, one, member)


def pairs() -> Iterator[Growth]:
    """Each two lists or mappings of each kind, once."""
    seen: set[tuple[object, ...]] = set()
    for one in objects():
        wide = [member for member in _containers(one) if member.unit]
        for pair in combinations(wide, 2):
            yield from _unseen(seen, one, *pair)


def _unseen(seen: set[tuple[object, ...]], one: Json, *members: Member) -> Iterator[Growth]:
    key = (group_of(one["apiVersion"]), one["kind"], *map(_general, members))
    if key not in seen:
        seen.add(key)
        yield Growth(one, members)


def _containers(one: Json) -> Iterator[Member]:
    for place, value in _members(one):
        if isinstance(value, list | dict):
            yield Member(place, True)
        if isinstance(value, dict):
            yield Member(place, False)


def _texts(one: Json) -> Iterator[Member]:
    return (Member(place, unit) for place, value in _members(one) if isinstance(value, str) for unit in UNITS)


class Cost(NamedTuple):
    """CPU seconds, and the bytes of the object as JSON."""

    seconds: float
    size: int

    @property
    def each(self) -> float:
        """Seconds for a MiB."""
        return self.seconds / self.size * 1024**2


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


def by_server(_: Json, body: bytes) -> object:
    """What the server answers; its bounds on structure refuse some."""
    try:
        return respond(body, Hook.VALIDATE, _EVALUATOR).body()
    except BadReviewError:
        return None


def by_command(one: Json, _: bytes) -> object:
    """What the command line finds."""
    try:
        return _EVALUATOR.evaluate(one, group_of(one["apiVersion"]), one["kind"], _ORIGIN)
    except MalformedError:
        return None


ANSWERS: tuple[Answer, ...] = (by_server, by_command)


def cost(growth: Growth, count: int, answer: Answer) -> Cost:
    made = growth.grown(count)
    body = review(made)
    gc.disable()  # it runs at some sizes only
    try:
        start = time.process_time()
        answer(made, body)
        return Cost(time.process_time() - start, len(body))
    finally:
        gc.enable()


def peak(growth: Growth, count: int, answer: Answer) -> tuple[int, int]:
    """The peak of memory, and the bytes of the object as JSON. The first of two runs fills caches."""
    made = growth.grown(count)
    body = review(made)
    return min(_peak(answer, made, body) for _ in range(2)), len(body)


def _peak(answer: Answer, made: Json, body: bytes) -> int:
    tracemalloc.start()
    try:
        answer(made, body)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


TIMES = 4
FLOOR = 0.004
"""Seconds below which the time is noise, and harmless."""

TOLERATED = 2.5
"""For each byte, linear work costs the same at each size, and quadratic work four times as much at four times."""

_HARMLESS = 8
"""Bytes of memory for a byte of the object that the bounds of the server cover: tables of Python grow in steps."""


class Compared(NamedTuple):
    """The costs of a growth at a size and at four times the size."""

    small: Cost
    large: Cost

    @property
    def is_linear(self) -> bool:
        return self.large.seconds < FLOOR or self.large.each <= TOLERATED * max(self.small.each, self.floor)

    @property
    def floor(self) -> float:
        return FLOOR / TIMES / self.small.size * 1024**2


def compared(growth: Growth, count: int, answer: Answer) -> Compared:
    """The best of several runs: what looks quadratic is measured again."""
    for _ in range(5):
        large = cost(growth, count * TIMES, answer)
        small = min(cost(growth, count, answer) for _ in range(3)) if large.seconds >= FLOOR else large
        if (found := Compared(small, large)).is_linear:
            break
    return found


def problem(growth: Growth, count: int, answer: Answer) -> str:
    """What takes CPU time that grows more than linearly, or an empty text.

    What shows at one size only is a step, such as that of the garbage collector.
    """
    for size in (count, count * TIMES):
        found = compared(growth, size, answer)
        if found.is_linear:
            return ""
    return f"{growth}: {found.small.each:.2f} s/MiB, then {found.large.each:.2f} for {found.large.size} bytes"


def problem_of_memory(growth: Growth, count: int, answer: Answer) -> str:
    """What takes memory that grows more than linearly, or an empty text."""
    for size in (count, count * TIMES):
        large, large_size = peak(growth, size * TIMES, answer)
        small, small_size = peak(growth, size, answer)
        if large <= _HARMLESS * large_size or large / large_size <= TOLERATED * small / small_size:
            return ""
    return f"{growth}: peak of {small} bytes for {small_size}, {large} for {large_size}"


OF_SINGLE, OF_TEXT, OF_PAIR = 500, 4000, 150
"""Elements of a list or mapping that grows alone, units of a text, and elements of each of two."""


def size_of(growth: Growth) -> int:
    if len(growth.members) > 1:
        return OF_PAIR
    return OF_TEXT if isinstance(growth.members[0].unit, str) else OF_SINGLE


def main(*presets: str) -> None:
    """Print what grows more than linearly, and the highest cost of a large object for each preset."""
    every = sorted((*singles(), *pairs()), key=lambda one: one.preset)
    for preset, growths in groupby(every, lambda one: one.preset):
        if not presets or preset in presets:
            _measure(preset, list(growths))


def _measure(preset: str, growths: Sequence[Growth]) -> None:
    for answer in ANSWERS:
        highest, where = 0.0, ""
        for growth in growths:
            large = compared(growth, size_of(growth), answer).large
            if large.size > _LARGE and large.each > highest:
                highest, where = large.each, f"{large.size >> 10} KiB, {growth}"
            if found := problem(growth, size_of(growth), answer):
                print(f"time, {answer.__name__}, {found}", flush=True)
            if growth.is_container and (found := problem_of_memory(growth, size_of(growth), answer)):
                print(f"memory, {answer.__name__}, {found}", flush=True)
        print(f"{preset:20} {answer.__name__:12} {len(growths):5} {highest:5.2f} s/MiB  {where}", flush=True)


_LARGE = 64 * 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
