"""Kinds to whose pods no path leads, and why: a preset that is left out, a typo, or a placeholder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from webhook.policy.messages import is_one_edit_away
from webhook.policy.pods.reading import is_placeholder
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import BUILT_IN, Kind, Kinds
from webhook.policy.workloads.paths import Whole
from webhook.policy.workloads.presets import PRESETS

_LONGEST = 96
"""Characters of a group or kind that is compared with known ones."""

_RETIRED = ("extensions",)
"""Groups in which kinds lived before they moved (Kubernetes 1.16 removed the workloads of `extensions/v1beta1`)."""

_BUILT_IN_GROUPS = frozenset((*(group for group, _ in BUILT_IN), *_RETIRED))


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


class _Known(NamedTuple):
    """The kinds that are known without settings, and the presets of those that settings may leave out."""

    kinds: Kinds
    by_group: Mapping[str, list[Kind]]
    by_name: Mapping[str, list[Kind]]
    presets: Mapping[tuple[str, str], str]


@cache
def _known() -> _Known:
    """The index of known kinds: a search of all of them takes longer than all else that is done about an object."""
    presets = {(one.group, one.kind): preset.name for preset in reversed(PRESETS) for one in preset.kinds}
    kinds = {**BUILT_IN, **{(one.group, one.kind): one for preset in PRESETS for one in preset.kinds}}
    by_group: dict[str, list[Kind]] = {}
    by_name: dict[str, list[Kind]] = {}
    for one in kinds.values():
        by_group.setdefault(one.group, []).append(one)
        by_name.setdefault(one.kind, []).append(one)
    return _Known(kinds, by_group, by_name, presets)


def unknown(group: str, kind: str, kinds: Kinds) -> Unknown:
    """Why these kinds do not include the kind."""
    if is_placeholder(group) or is_placeholder(kind):
        return Unknown(is_placeholder=True)
    preset = _known().presets.get((group, kind))
    if preset is not None:
        return Unknown(preset=preset)
    meant = next(_meant(group, kind, kinds), None) if len(group) <= _LONGEST and len(kind) <= _LONGEST else None
    return Unknown() if meant is None else Unknown(meant=f"{_api_version(meant)} {meant.kind}")


def _meant(group: str, kind: str, kinds: Kinds) -> Iterator[Kind]:
    """The kinds of the group with almost this name, then the kinds with this name in a group that this one suggests."""
    known = _known()
    added = [one for key, one in kinds.items() if key not in known.kinds]
    folded = kind.lower()
    for one in (*known.by_group.get(group, ()), *(one for one in added if one.group == group)):
        if is_one_edit_away(folded, one.kind.lower()):
            yield kinds.get((group, one.kind), one)
    is_built_in = group in _BUILT_IN_GROUPS
    is_custom = group in known.by_group or any(one.group == group for one in added)
    for one in (*known.by_name.get(kind, ()), *(one for one in added if one.kind == kind)):
        suggests = (one.group, kind) in BUILT_IN if is_built_in else is_custom and _is_compound(kind)
        if suggests or is_one_edit_away(group, one.group):
            yield kinds.get((one.group, kind), one)


def _is_compound(kind: str) -> bool:
    """Whether a name consists of several words, such as `JobSet`: many projects have a `Service` or a `Task`."""
    return sum(map(str.isupper, kind)) > 1


def _api_version(kind: Kind) -> str:
    return f"{kind.group}/{kind.versions[0]}" if kind.group else kind.versions[0]


_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}", re.ASCII)
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}", re.ASCII)
_GROUP = re.compile(r"[a-z0-9.-]{0,253}", re.ASCII)


def entry(group: str, kind: str, path: Path, holds: Whole) -> str | None:
    """The entry in YAML; None if the settings cannot write the group, the kind or the path."""
    steps = _written(path)
    if steps is None or not _KIND.fullmatch(kind) or not _GROUP.fullmatch(group):
        return None
    of_group = f"group: {group}, " if group else ""
    what = "" if holds == "template" else f", holds: {holds}"
    return f'{{{of_group}kind: {kind}, path: "{steps}"{what}}}'


def _written(path: Path) -> str | None:
    """A path as the settings write it, with `[*]` for each index of a list."""
    written = ""
    for step in path:
        if isinstance(step, int):
            if not written or written.endswith("[*]"):
                return None
            written += "[*]"
        elif _KEY.fullmatch(step):
            written += f".{step}" if written else step
        else:
            return None
    return written or None
