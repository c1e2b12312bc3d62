"""Why a file or folder is skipped because of its name and of the folder that holds it."""

from __future__ import annotations

import os
from collections.abc import Collection
from posixpath import split
from typing import NamedTuple

from webhook.diagnostics import Diagnostic
from webhook.manifests.files import read_file, shown
from webhook.manifests.gitignore import Rules, is_ignored, rules_above, rules_of
from webhook.manifests.kustomizations import used_files
from webhook.manifests.recognition import CHART_FILE, KUSTOMIZATION_FILES, Reason, is_values_file

_NOTHING: frozenset[str] = frozenset()
_MARKERS = (".git", ".gitignore", CHART_FILE, *KUSTOMIZATION_FILES)
"""The files that say something about those beside them and below."""


class Place(NamedTuple):
    """A folder of a search, at or below its top.

    `below` is its path below the top, with a slash at the end. `rules` are those of .gitignore files, and `used` holds
    the paths below the top that kustomizations use. `problems` are those of kustomizations.
    """

    below: str
    rules: tuple[Rules, ...]
    used: frozenset[str]
    is_chart: bool
    problems: tuple[Diagnostic, ...]

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
        if below in self.used or (name in KUSTOMIZATION_FILES and not is_folder):
            return Reason.KUSTOMIZATION
        return None


def top_place(path: str, names: Collection[str] | None = None) -> Place:
    """Return the place of the top of a search. Without the names in a folder, those that matter are looked for."""
    return _place(path, "", rules_above(path), _NOTHING, _markers(path) if names is None else names)


def inner_place(outer: Place, path: str, name: str, names: Collection[str] | None = None) -> Place:
    """Return the place of a folder in a folder; `path` is its whole path."""
    names = _markers(path) if names is None else names
    # A repository inside another one: git applies its own rules only.
    rules = () if ".git" in names else outer.rules
    return _place(path, f"{outer.below}{name}/", rules, outer.used, names)


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


def _place(path: str, below: str, rules: tuple[Rules, ...], used: frozenset[str], names: Collection[str]) -> Place:
    if ".gitignore" in names:
        rules += rules_of(path, below)
    problems: list[Diagnostic] = []
    for name in KUSTOMIZATION_FILES:
        if name in names:
            using = _used(f"{path}/{name}", below)
            if isinstance(using, Diagnostic):
                problems.append(using)
            else:
                used |= using
    return Place(below, rules, used, CHART_FILE in names, tuple(problems))


def _used(kustomization: str, below: str) -> frozenset[str] | Diagnostic:
    data = read_file(kustomization)
    return data if isinstance(data, Diagnostic) else used_files(shown(kustomization), data, below)
