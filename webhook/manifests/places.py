"""Why a file or folder is skipped because of its name and of the folder that holds it."""

from __future__ import annotations

import os
from collections.abc import Collection
from posixpath import split
from typing import NamedTuple

from webhook.manifests.files import leaves
from webhook.manifests.ignore import Patterns
from webhook.manifests.kustomizations import parts_of
from webhook.manifests.recognition import CHART_FILE, KUSTOMIZATION_FILES, Reason, is_values_file
from webhook.manifests.worktrees import Ignored, WorkTrees

_MARKERS = (".git", CHART_FILE, *KUSTOMIZATION_FILES)
"""Files that say something about those beside them and below; not so a kustomization elsewhere, behind a link."""


class Place(NamedTuple):
    """A folder of a search, at or below its top.

    `below` is its path below the top, with a slash at the end. `ignored` is what git ignores in it. `parts` holds the
    paths below the top of the files that kustomizations merge into objects, by the folders that hold them.
    """

    below: str
    ignored: Ignored
    parts: tuple[frozenset[str], ...]
    is_chart: bool

    def reason(self, name: str, exclude: Patterns | None, *, is_folder: bool) -> Reason | None:
        """Return why a file or folder in this folder is skipped; None where it is read."""
        if name == ".git":
            return Reason.GIT
        below = self.below + name
        if exclude is not None and exclude.match(below, folder=is_folder):
            return Reason.EXCLUDED
        if self.ignored.has(name, is_folder=is_folder):
            return Reason.IGNORED
        if self.is_chart and (name == "templates" if is_folder else name == CHART_FILE or is_values_file(name)):
            return Reason.CHART
        return None

    def is_part(self, name: str) -> bool:
        """Return whether a file in this folder is a kustomization, or one merges it into objects."""
        below = self.below + name
        return name in KUSTOMIZATION_FILES or any(below in parts for parts in self.parts)


def top_place(path: str, trees: WorkTrees, names: Collection[str]) -> Place:
    """Return the place of the top of a search. `names` holds at least the `markers` of the folder."""
    return _place(path, "", trees.of(path), (), names)


def inner_place(outer: Place, path: str, name: str, trees: WorkTrees, names: Collection[str]) -> Place:
    """Return the place of a folder in a folder; `path` is its whole path."""
    ignored = trees.within(path) if ".git" in names else outer.ignored.below(name)
    return _place(path, f"{outer.below}{name}/", ignored, outer.parts, names)


def markers(path: str, top: str) -> set[str]:
    """Return the names of files in a folder that say something about those beside them and below."""
    names = {name for name in _MARKERS if os.path.lexists(f"{path}/{name}")}
    return names - {name for name in names.intersection(KUSTOMIZATION_FILES) if leaves(f"{path}/{name}", top)}


def is_of_chart(folder: str) -> bool:
    """Return whether a folder is, or is inside, the folder `templates` of a chart."""
    parent, name = split(os.path.realpath(folder))
    while name:
        if name == "templates" and os.path.lexists(f"{parent}/{CHART_FILE}"):
            return True
        parent, name = split(parent)
    return False


def _place(path: str, below: str, ignored: Ignored, parts: tuple[frozenset[str], ...], names: Collection[str]) -> Place:
    found = parts_of(path, below, names)
    return Place(below, ignored, (*parts, found) if found else parts, CHART_FILE in names)
