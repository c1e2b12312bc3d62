"""The place that the author of an amount probably meant, as far as the paths of the kind tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from webhook.policy.messages import is_one_edit_away
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import BUILT_IN, Kind
from webhook.policy.workloads.paths import EVERY, MAPPINGS, Assembly, Form, PodPath, Steps, Whole, written

_LONGEST_STEP = 63
"""Characters of a key that is compared with a known one."""

_MOST_STEPS = 48
"""Steps of a path that is compared with those of a kind: more than any of them has, by far."""

_TOO_DEEP = 2
"""Levels that an amount may stand too deep, as in `env[0].resources`."""

_FAR = 2
"""Steps that an amount may be away from the place that is meant in a custom kind, which has fields of its own."""


_LEAST_ALIKE = 2
"""Keys that a path and a place have in common at least."""


class Intended(NamedTuple):
    """The place that is meant, and the part of its path that differs from where the amount stands."""

    place: str
    difference: str


def intended(kind: Kind, path: Path) -> Intended | None:
    """The place of a kind that is nearest to a path without the name of its resource; None if no place is near.

    A place is near if its path has the same steps and some more or fewer, or a few letters differ.
    """
    if len(path) > _MOST_STEPS:
        return None
    is_built_in = (kind.group, kind.kind) in BUILT_IN
    best: tuple[int, Path] | None = None
    for steps in places(kind):
        found = _aligned(steps, path)
        if found is not None and (best is None or found[0] < best[0]) and (is_built_in or found[0] <= _FAR):
            best = found
    if best is None:
        return None
    return Intended(written(best[1]), written(_difference(best[1], path)))


def places(kind: Kind) -> Iterator[Steps]:
    """The steps to all places of a kind where an amount is read: to `limits` and `requests`, or to the amount."""
    for path in kind.paths:
        for steps, form in _requests(path):
            if form == "spark":
                yield (*steps, "gpu", "quantity")
            else:
                yield from ((*steps, *_RESOURCES[form], field) for field in ("limits", "requests"))


_RESOURCES: Mapping[Form, Steps] = {
    "container": ("resources",),
    "resources": (),
    "step": ("computeResources",),
    "trainer": ("resourcesPerNode",),
}
"""The steps from a container of each form to its `limits` and `requests`."""

_WITHIN: Mapping[Whole, tuple[Steps, ...]] = {
    "template": (("spec", "containers", EVERY), ("spec", "initContainers", EVERY)),
    "podSpec": (("containers", EVERY), ("initContainers", EVERY)),
    "container": ((),),
}
"""The steps from what a path leads to, to its containers."""


def _requests(path: PodPath) -> Iterator[tuple[Steps, Form]]:
    """The steps to all that may ask for resources in the pods at a path, each with its form."""
    holds = path.holds
    if isinstance(holds, Assembly):
        yield from (((*path.steps, *steps), form) for steps, form in holds.requests)
    elif holds == "resources":
        yield path.steps, "resources"
    else:
        yield from (((*path.steps, *steps), "container") for steps in _WITHIN[holds])


def _aligned(place: Steps, path: Path) -> tuple[int, Path] | None:
    """How far a path is from a place of the kind, and that place with the indices of the path; None if it is not near.

    Near means that the steps of the shorter one are some of those of the longer one, in their order.
    """
    if len(path) > len(place) + _TOO_DEEP:
        return None
    is_deeper = len(path) > len(place)
    pairs: list[tuple[int, int]] = []
    start = 0
    for index in range(min(len(place), len(path))):
        for other in range(start, max(len(place), len(path))):
            pair = (index, other) if is_deeper else (other, index)
            if _is_alike(place, pair[0], path[pair[1]]):
                pairs.append(pair)
                start = other + 1
                break
        else:
            return None
    if sum(isinstance(path[index], str) for _, index in pairs) < _LEAST_ALIKE:
        return None
    meant: list[str | int] = list(place)
    misspelt = 0
    for at, index in pairs:
        step = path[index]
        if isinstance(step, int):
            meant[at] = step
        else:
            misspelt += place[at] not in (EVERY, step)
    return abs(len(place) - len(path)) + misspelt, tuple(meant)


def _is_alike(place: Steps, at: int, step: str | int) -> bool:
    """Whether a step is the one of a place, in other case or with a typo."""
    known = place[at]
    if known == EVERY:
        return isinstance(step, int) or place[at - 1].endswith(MAPPINGS)
    if isinstance(step, int) or len(step) > _LONGEST_STEP:
        return False
    return known == step or is_one_edit_away(known.lower(), step.lower())


def _difference(meant: Path, path: Path) -> Path:
    """The steps of a place in which it differs from a path, and those around them."""
    first = _common(meant, path)
    last = _common(meant[first:][::-1], path[first:][::-1])
    first = max(first - 1, 0)
    while first and (isinstance(meant[first], int) or meant[first] == EVERY):
        first -= 1
    return meant[first : len(meant) - last + 1]


def _common(left: Path, right: Path) -> int:
    """The number of steps with which both begin."""
    pairs = zip(left, right, strict=False)
    return next(
        (count for count, (one, other) in enumerate(pairs) if one not in (EVERY, other)), min(len(left), len(right))
    )
