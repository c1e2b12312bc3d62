"""Why a file or folder is skipped because of its name and of the folder that holds it."""

from __future__ import annotations

import os
from collections.abc import Collection
from posixpath import split
from typing import NamedTuple

from webhook.diagnostics import Diagnostic
from webhook.manifests.files import leaves, read_file, shown
from webhook.manifests.ignore import Patterns
from webhook.manifests.kustomizations import used_files
from webhook.manifests.recognition import CHART_FILE, KUSTOMIZATION_FILES, Reason, is_values_file
from webhook.manifests.worktrees import Ignored, WorkTrees

_NOTHING: frozenset[str] = frozenset()
_MARKERS = (".git", CHART_FILE, *KUSTOMIZATION_FILES)
"""Files that say something about those beside them and below; not so a kustomization elsewhere, behind a link."""


class Place(NamedTuple):
    """A folder of a search, at or below its top.

    `below` is its path below the top, with a slash at the end. `ignored` is what git ignores in it, and `used` holds
    the paths below the top that kustomizations use. `problems` are those of kustomizations.
    """

    below: str
    ignored: Ignored
    used: frozenset[str]
    is_chart: bool
    problems: tuple[Diagnostic, ...]

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
        if below in self.used or (name in KUSTOMIZATION_FILES and not is_folder):
            return Reason.KUSTOMIZATION
        return None


def top_place(path: str, trees: WorkTrees, names: Collection[str]) -> Place:
    """Return the place of the top of a search. `names` holds at least the `markers` of the folder."""
    return _place(path, "", trees.of(path), _NOTHING, names)


def inner_place(outer: Place, path: str, name: str, trees: WorkTrees, names: Collection[str]) -> Place:
    """Return the place of a folder in a folder; `path` is its whole path."""
    ignored = trees.within(path) if ".git" in names else outer.ignored.below(name)
    return _place(path, f"{outer.below}{name}/", ignored, outer.used, names)


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


def _place(path: str, below: str, ignored: Ignored, used: frozenset[str], names: Collection[str]) -> Place:
    problems: list[Diagnostic] = []
    for name in KUSTOMIZATION_FILES:
        if name in names:
            using = _used(f"{path}/{name}", below)
            if isinstance(using, Diagnostic):
                problems.append(using)
            else:
                used |= using
    return Place(below, ignored, used, CHART_FILE in names, tuple(problems))


def _used(kustomization: str, below: str) -> frozenset[str] | Diagnostic:
    data = read_file(kustomization)
    return data if isinstance(data, Diagnostic) else used_files(shown(kustomization), data, below)
