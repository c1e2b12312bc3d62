"""Configurations of the device plugin to compare: fields with many values, and random files from a fixed seed.

They vary what GPS030 judges alone: the version, what is below `sharing`, the MIG strategy and the list of strategies.
The plugin also refuses values of other fields, and elements of `devices`, which the check leaves alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final, TypeAlias

Tree: TypeAlias = "dict[str, Any] | list[Any] | str"
"""A document whose keys and scalars are YAML as it is written."""

FULL: Final[Tree] = {
    "version": "v1",
    "flags": {"migStrategy": "none", "plugin": {"deviceListStrategy": "envvar"}},
    "sharing": {
        "timeSlicing": {
            "renameByDefault": "false",
            "failRequestsGreaterThanOne": "false",
            "resources": [{"name": "gpu", "rename": "gpu.shared", "devices": "all", "replicas": "2"}],
        },
        "mps": {
            "renameByDefault": "true",
            "failRequestsGreaterThanOne": "true",
            "resources": [{"name": "nvidia.com/gpu", "devices": "[0]", "replicas": "4"}],
        },
    },
}
"""A configuration with every field that GPS030 judges."""

SMALL: Final[tuple[Tree, ...]] = (
    {"version": "v1", "sharing": {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": "10"}]}}},
    {
        "version": "v1",
        "flags": {"migStrategy": "mixed"},
        "sharing": {
            "timeSlicing": {
                "resources": [{"name": "gpu", "replicas": "10"}, {"name": "nvidia.com/mig-1g.5gb", "replicas": "2"}]
            }
        },
    },
    {"flags": {"plugin": {"deviceListStrategy": ["envvar", "cdi-cri"]}}},
    {},
)

ANY: Final = (
    *"null true Off word '' 'true' 0 1 -1 2.0 2.5 1e3 0x10 010 1_000 1e30".split(),
    *("!!str 5", "!!int '7'", "2024-01-01", "[]", "[1]", "[null]", "{}", "{a: 1}"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616"),
)
"""Values that every field gets."""

OF_FIELDS: Final = {
    "version": ("v1", "V1", "v2", "1"),
    "migStrategy": ("none", "single", "mixed", "Mixed", "all"),
    "deviceListStrategy": (
        *("envvar", "volume-mounts", "cdi-annotations", "cdi-cri", "cdi", "envvar,cdi-cri"),
        *("[envvar, envvar]", "[envvar, cdi]", "[volume-mounts, null]", "[envvar, 1]", "[cdi-cri, volume-mounts]"),
    ),
    "name": (
        *"gpu nvidia.com/gpu nvidia.com/ nvidia.com/nvidia.com/gpu example.com/gpu GPU gpu_1 -gpu".split(),
        *("gpu.", "gpu..a", "gpu-", "a.b-c.d", "mig-1g.5gb", "mig-1g.5gb.me", "gpu.shared", "x" * 52, "x" * 53, "é"),
        "nvidia.com/" + "x" * 52,
    ),
    "rename": ("gpu.shared", "nvidia.com/gpu.shared", "other", "Other", "a/b", "x" * 53),
    "replicas": ("3", "48", "49", "2.0", "1.9", "'2'", "2e0", "1e18", "1e19", "-2"),
    "devices": ("all", "All", "none", "'1'", "3", "3.0", "-1", "[0, 1]", "['0', '1']", "['0:1']", "[00]"),
}
"""Values that fields of these names get as well."""

MEMBERS: Final = ("fileds: 1", "name: gpu", "Version: v1", "timeSlicing: null", "mps: null", "kind: x")


def configurations() -> list[str]:
    """The texts, always the same."""
    found = dict.fromkeys(written(tree) for tree in (FULL, *SMALL))
    found |= dict.fromkeys(_each_field())
    found |= dict.fromkeys(_random(random.Random(28), 2200))  # noqa: S311
    return list(found)


def written(tree: Tree) -> str:
    """A document as YAML, in the flow style."""
    match tree:
        case dict():
            return "{" + ", ".join(f"{key}: {written(value)}" for key, value in tree.items()) + "}"
        case list():
            return "[" + ", ".join(map(written, tree)) + "]"
    return tree


def _each_field() -> Iterator[str]:
    """One file for each field and value, and one for each field that is absent, unknown, or in another case."""
    for path in _paths(FULL):
        name = next(step for step in reversed(path) if isinstance(step, str))
        for value in (*ANY, *OF_FIELDS.get(name, ())):
            yield written(_with(FULL, path, value))
        if path[-1] == name:
            yield written(_without(FULL, path))
            for other in (name.upper(), name.capitalize(), f"{name}s", name.replace("s", "\u017f"), f"'{name} '"):
                yield written(_without(FULL, path, other))


def _random(source: random.Random, count: int) -> Iterator[str]:
    """Files with several changes."""
    trees = (FULL, *SMALL)
    for _ in range(count):
        tree = deepcopy(trees[_below(source, len(trees))])
        for _ in range(1 + _below(source, 4)):
            tree = _changed(source, tree)
        yield written(tree)


def _changed(source: random.Random, tree: Tree) -> Tree:
    paths = list(_paths(tree))
    if not paths:
        return deepcopy(SMALL[0])
    path = paths[_below(source, len(paths))]
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    match _below(source, 6):
        case 0:
            return _without(tree, path)
        case 1 if isinstance(path[-1], str):
            return _without(tree, path, _cased(source, path[-1]))
        case 2:
            return _added(tree, path, _cased(source, name), _value(source, name))
        case 3:
            key, _, value = MEMBERS[_below(source, len(MEMBERS))].partition(": ")
            return _added(tree, path, key, value)
    return _with(tree, path, _value(source, name))


def _value(source: random.Random, name: str) -> str:
    known = OF_FIELDS.get(name, ())
    values = known if known and _below(source, 3) else ANY
    return values[_below(source, len(values))]


def _cased(source: random.Random, name: str) -> str:
    return "".join(one.swapcase() if not _below(source, 4) else one for one in name)


def _below(source: random.Random, bound: int) -> int:
    """A number below a bound: `random()` alone gives the same numbers in every version of Python."""
    return int(source.random() * bound)


def _paths(tree: Tree, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths to all values but the whole."""
    if path:
        yield path
    match tree:
        case dict():
            for key, value in tree.items():
                yield from _paths(value, (*path, key))
        case list():
            for index, value in enumerate(tree):
                yield from _paths(value, (*path, index))


def _holder(tree: Any, path: tuple[str | int, ...]) -> Any:
    for step in path[:-1]:
        tree = tree[step]
    return tree


def _with(tree: Tree, path: tuple[str | int, ...], value: Tree) -> Tree:
    changed = deepcopy(tree)
    _holder(changed, path)[path[-1]] = value
    return changed


def _without(tree: Tree, path: tuple[str | int, ...], renamed: str = "") -> Tree:
    """Without a value, or with it under another key."""
    changed = deepcopy(tree)
    holder = _holder(changed, path)
    value = holder.pop(path[-1])
    if renamed:
        holder[renamed] = value
    return changed


def _added(tree: Tree, path: tuple[str | int, ...], key: str, value: Tree) -> Tree:
    """With another member, or element, beside a value."""
    changed = deepcopy(tree)
    holder = _holder(changed, path)
    if isinstance(holder, list):
        holder.append(value)
    else:
        holder[key] = value
    return changed
