"""Kinds and places that no path describes, and what their author probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from webhook.policy.messages import is_one_edit_away
from webhook.policy.pods.reading import is_placeholder
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import BUILT_IN, Kind, Kinds, by_name
from webhook.policy.workloads.paths import EVERY, MEMBER, Assembly, Form, PathPattern, Whole, repeats, written
from webhook.policy.workloads.presets import PRESETS

_LONGEST = 96
"""Characters of a group or kind that is compared with known ones."""

_BUILT_IN_GROUPS = frozenset((*(group for group, _ in BUILT_IN), "extensions"))
"""The groups of built-in kinds; in `extensions/v1beta1`, workloads lived until Kubernetes 1.16 removed it."""


class Unknown(NamedTuple):
    """Why no path leads to the pods of a kind, as far as the name tells.

    `meant` is the `apiVersion` and kind of which it is probably a typo, `preset` the preset that the settings leave
    out; both are empty where there is none. `is_placeholder`: the kind or its group is a template placeholder.
    """

    meant: str = ""
    preset: str = ""
    is_placeholder: bool = False

    @property
    def cause(self) -> str:
        """The reason in words; empty where the name tells nothing."""
        if self.is_placeholder:
            return "its kind is unknown until the template is rendered"
        if self.preset:
            return f"the settings leave out the preset {self.preset}"
        return f"unknown kind (did you mean {self.meant}?)" if self.meant else ""


class _Known:
    """The kinds that are known without settings, and the presets of those that settings may leave out.

    The indexes are there because a search of all kinds takes longer than all else that is done about an object.
    """

    def __init__(self) -> None:
        self.presets = {(one.group, one.kind): preset.name for preset in reversed(PRESETS) for one in preset.kinds}
        self.kinds = {**BUILT_IN, **by_name(one for preset in PRESETS for one in preset.kinds)}
        self.by_group: dict[str, list[Kind]] = {}
        self.by_name: dict[str, list[Kind]] = {}
        for one in self.kinds.values():
            self.by_group.setdefault(one.group, []).append(one)
            self.by_name.setdefault(one.kind, []).append(one)


_known = cache(_Known)


def unknown(group: str, kind: str, kinds: Kinds) -> Unknown:
    """Why these kinds do not include the kind."""
    if is_placeholder(group) or is_placeholder(kind):
        return Unknown(is_placeholder=True)
    preset = _known().presets.get((group, kind))
    if preset is not None:
        return Unknown(preset=preset)
    meant = next(_meant(group, kind, kinds), None) if len(group) <= _LONGEST and len(kind) <= _LONGEST else None
    if meant is None:
        return Unknown()
    prefix = f"{meant.group}/" if meant.group else ""
    return Unknown(meant=f"{prefix}{meant.versions[0]} {meant.kind}")


def _meant(group: str, kind: str, kinds: Kinds) -> Iterator[Kind]:
    """The kinds of the group with almost this name, then the kinds with this name in a group that this one suggests."""
    known = _known()
    added = [one for key, one in kinds.items() if key not in known.kinds]
    folded = kind.lower()
    for one in (*known.by_group.get(group, ()), *(one for one in added if one.group == group)):
        if is_one_edit_away(folded, one.kind.lower()):
            yield kinds.get((group, one.kind), one)
    is_built_in = group in _BUILT_IN_GROUPS
    # A name of several words, such as `JobSet`, tells the kind: many projects have a `Service` or a `Task`.
    is_telling = sum(map(str.isupper, kind)) > 1
    is_custom = group in known.by_group or any(one.group == group for one in added)
    for one in (*known.by_name.get(kind, ()), *(one for one in added if one.kind == kind)):
        suggests = (one.group, kind) in BUILT_IN if is_built_in else is_custom and is_telling
        if suggests or is_one_edit_away(group, one.group):
            yield kinds.get((one.group, kind), one)


_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}", re.ASCII)
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}", re.ASCII)
_GROUP = re.compile(r"[a-z0-9.-]{0,253}", re.ASCII)


def entry(group: str, kind: str, path: Path, holds: Whole) -> str | None:
    """The entry in YAML; None if the settings cannot write the group, the kind or the path."""
    if not all(isinstance(step, int) or _KEY.fullmatch(step) for step in path):
        return None
    steps = re.sub(r"\[\d+\]", "[*]", written(path))
    # Settings write no list at the root, and no list of lists.
    is_written = steps and not steps.startswith("[") and "][" not in steps
    if not is_written or not _KIND.fullmatch(kind) or not _GROUP.fullmatch(group):
        return None
    of_group = f"group: {group}, " if group else ""
    what = "" if holds == "template" else f", holds: {holds}"
    return f'{{{of_group}kind: {kind}, path: "{steps}"{what}}}'


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
    aligned = [found for steps in places(kind) if (found := _aligned(steps, path)) is not None]
    near = [(distance, place) for distance, place in aligned if is_built_in or distance <= _FAR]
    if not near:
        return None
    _, nearest = min(near, key=lambda found: found[0])
    return Intended(written(nearest), written(_difference(nearest, path)))


def places(kind: Kind) -> Iterator[PathPattern]:
    """The steps to all places of a kind where an amount is read: to `limits` and `requests`, or to the amount."""
    for path in kind.paths:
        for steps, form in path.holds.requests if isinstance(path.holds, Assembly) else _REQUESTS[path.holds]:
            yield from ((*path.steps, *steps, *below) for below in _AMOUNTS[form])


_REQUESTS: Mapping[Whole, tuple[tuple[PathPattern, Form], ...]] = {
    "template": ((("spec", "containers", EVERY), "container"), (("spec", "initContainers", EVERY), "container")),
    "podSpec": ((("containers", EVERY), "container"), (("initContainers", EVERY), "container")),
    "container": (((), "container"),),
    "resources": (((), "resources"),),
}
"""The steps from the end of a path to all that may ask for resources, each with its form."""

_AMOUNTS: Mapping[Form, tuple[PathPattern, ...]] = {
    "container": (("resources", "limits"), ("resources", "requests")),
    "resources": (("limits",), ("requests",)),
    "step": (("computeResources", "limits"), ("computeResources", "requests")),
    "trainer": (("resourcesPerNode", "limits"), ("resourcesPerNode", "requests")),
    "spark": (("gpu", "quantity"),),
    "gpus": (("gpu",),),
}
"""The steps from a container of each form to its amounts."""


def _aligned(place: PathPattern, path: Path) -> tuple[int, Path] | None:
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
            misspelt += not repeats(place[at]) and place[at] != step
    return abs(len(place) - len(path)) + misspelt, tuple(meant)


def _is_alike(place: PathPattern, at: int, step: str | int) -> bool:
    """Whether a step is the one of a place, in other case or with a typo."""
    known = place[at]
    if repeats(known):
        return known == MEMBER or isinstance(step, int)
    if isinstance(step, int) or len(step) > _LONGEST_STEP:
        return False
    return known == step or is_one_edit_away(known.lower(), step.lower())


def _difference(meant: Path, path: Path) -> Path:
    """The steps in which a place differs from a path, and the steps around them."""
    first = _common(meant, path)
    last = _common(meant[first:][::-1], path[first:][::-1])
    first = max(first - 1, 0)
    while first and (isinstance(meant[first], int) or repeats(meant[first])):
        first -= 1
    return meant[first : len(meant) - last + 1]


def _common(left: Path, right: Path) -> int:
    """The number of steps with which both begin."""
    pairs = zip(left, right, strict=False)
    return next(
        (count for count, (one, other) in enumerate(pairs) if not repeats(one) and one != other),
        min(len(left), len(right)),
    )
