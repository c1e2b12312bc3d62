"""Why a file or folder is skipped because of its name and of the folder that holds it."""

from __future__ import annotations

import os
from collections.abc import Collection
from posixpath import split
from typing import NamedTuple

from webhook.manifests.gitignore import Rules, is_ignored, rules_above, rules_of
from webhook.manifests.kustomizations import parts_of
from webhook.manifests.recognition import CHART_FILE, KUSTOMIZATION_FILES, Reason, is_values_file

_MARKERS = (".git", ".gitignore", CHART_FILE, *KUSTOMIZATION_FILES)
"""The files that say something about those beside them and below."""


class Place(NamedTuple):
    """A folder of a search, at or below its top.

    `below` is its path below the top, with a slash at the end. `rules` are those of .gitignore files. `parts` holds the
    paths below the top of the files that kustomizations merge into objects, by the folders that hold them.
    """

    below: str
    rules: tuple[Rules, ...]
    parts: tuple[frozenset[str], ...]
    is_chart: bool

    def reason(self, name: str, exclude: Rules | None, *, is_folder: bool) -> Reason | None:
        """Return why a file or folder in this folder is skipped; None where it is read."""
        if name.startswith("."):
            return Reason.HIDDEN
        below = self.below + name
        if exclude is not None and exclude.match(below, folder=is_folder):
            return Reason.EXCLUDED
        if is_ignored(self.rules, below, folder=is_folder):
            return Reason.IGNORED
        if self.is_chart and (name == "templates" if is_folder else name == CHART_FILE or is_values_file(name)):
            return Reason.CHART
        return None

    def is_part(self, name: str) -> bool:
        """Return whether a file in this folder is a kustomization, or one merges it into objects."""
        below = self.below + name
        return name in KUSTOMIZATION_FILES or any(below in parts for parts in self.parts)


def top_place(path: str, names: Collection[str] | None = None) -> Place:
    """Return the place of the top of a search. Without the names in a folder, those that matter are looked for."""
    return _place(path, "", rules_above(path), (), _markers(path) if names is None else names)


def inner_place(outer: Place, path: str, name: str, names: Collection[str] | None = None) -> Place:
    """Return the place of a folder in a folder; `path` is its whole path."""
    names = _markers(path) if names is None else names
    # A repository inside another one: git applies its own rules only.
    rules = () if ".git" in names else outer.rules
    return _place(path, f"{outer.below}{name}/", rules, outer.parts, names)


def is_of_chart(folder: str) -> bool:
    """Return whether a folder is, or is inside, the folder `templates` of a chart."""
    parent, name = split(os.path.realpath(folder))
    while name:
        if name == "templates" and os.path.lexists(f"{parent}/{CHART_FILE}"):
            return True
        parent, name = split(parent)
    return False


def _markers(path: str) -> list[str]:
    return [name for name in _MARKERS if os.path.lexists(f"{path}/{name}")]


def _place(
    path: str, below: str, rules: tuple[Rules, ...], parts: tuple[frozenset[str], ...], names: Collection[str]
) -> Place:
    if ".gitignore" in names:
        rules += rules_of(path, below)
    found = parts_of(path, below, names)
    return Place(below, rules, (*parts, found) if found else parts, CHART_FILE in names)
