"""The page of the kinds whose pods are checked: a table for each preset, between two parts in prose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from inspect import getdoc
from itertools import groupby
from pathlib import Path

from webhook.policy.pods.pod import INIT
from webhook.policy.workloads.kinds import BUILT_IN, Kind
from webhook.policy.workloads.paths import (
    CONTAINERS,
    Assembly,
    Containers,
    PodCount,
    PodPath,
    always,
    one,
    unknown,
)
from webhook.policy.workloads.presets import PRESETS, Preset

PROSE = Path(__file__).parent / "prose"
HEAD = "# Workloads\n"
WHOLE = {
    "podSpec": "pod spec",
    "container": "container",
    "resources": "resources",
}
FORMS = {
    "container": "container",
    "resources": "resources",
    "step": "`computeResources`",
    "trainer": "`resourcesPerNode`",
    "spark": "`gpu`",
}
_FIXED: dict[PodCount, str] = {one: "1", unknown: "unknown"}


def page() -> str:
    """Return the whole page."""
    return "\n".join(
        [
            HEAD,
            _prose("workloads"),
            "## Built-in kinds\n",
            *_list(BUILT_IN.values()),
            *(line for preset in PRESETS for line in _preset(preset)),
            "",
            _prose("workloads-unchecked"),
        ]
    )


def _prose(name: str) -> str:
    return (PROSE / f"{name}.md").read_text(encoding="utf-8")


def _preset(preset: Preset) -> Iterator[str]:
    groups = [f"`{group}`" for group in dict.fromkeys(kind.group for kind in preset.kinds)]
    yield f"\n## {preset.title}\n"
    yield f"`{preset.name}`: {' and '.join(groups)}\n"
    yield from _list(preset.kinds)


def _list(kinds: Iterable[Kind]) -> Iterator[str]:
    """The list of kinds; those with equal paths share an item, and so do paths that hold the same."""
    for (paths, versions), alike in groupby(kinds, lambda kind: (kind.paths, kind.versions)):
        since = ", ".join(f"`{version}`" for version in reversed(versions))
        item = f"- **{', '.join(map(_name, alike))}** {since}"
        places: dict[str, list[str]] = {}
        for path in paths:
            places.setdefault(_holds(path) + _group(path), []).append(_path(path))
        lines = [f"{', '.join(found)}{about}" for about, found in places.items()]
        yield item + (f": {lines[0]}" if len(lines) == 1 else "")
        yield from (f"  - {line}" for line in lines if len(lines) > 1)


def _name(kind: Kind) -> str:
    return kind.kind if kind.namespaced else f"{kind.kind} (cluster-scoped)"


def _path(path: PodPath) -> str:
    return f"`{path.path}`" if path.path else "the object itself"


def _holds(path: PodPath) -> str:
    """What is at a path, unless it is a pod template."""
    if path.holds == "template":
        return ""
    if not isinstance(path.holds, Assembly):
        return f": {WHOLE[path.holds]}"
    parts = path.holds.parts
    if not set(CONTAINERS) <= set(parts):
        return ": pod of " + ", ".join(map(_part, parts))
    also = ", ".join(_part(part) for part in parts if part not in CONTAINERS)
    return ": pod spec" + (f", also with {also}" if also else "")


def _part(part: Containers) -> str:
    if not part.path:
        return f"one container ({FORMS[part.form]})"
    what = [FORMS[part.form]] * (part.form != "container") + ["init"] * (part.kind is INIT)
    return f"`{part.path}`" + (f" ({', '.join(what)})" if what else "")


def _group(path: PodPath) -> str:
    """The group, the condition under which pods form one, and the pods that a path adds to it."""
    if not path.group:
        return ""
    condition = "" if path.works_together is always else f" {_after_colon(path.works_together)}"
    count = _FIXED.get(path.count) or _after_colon(path.count) or "not stated"
    return f"; group `{path.group}`{condition}: {count}"


def _after_colon(function: Callable[..., object]) -> str:
    """What the first sentence of a function's docstring says after its first colon."""
    sentence = re.split(r"(?<=\.)\s", getdoc(function) or "", maxsplit=1)[0]
    return sentence.partition(": ")[2].removesuffix(".")
