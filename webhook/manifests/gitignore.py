"""The .gitignore files that apply to the paths below a folder."""

from __future__ import annotations

import os
from itertools import pairwise
from posixpath import basename, dirname
from typing import NamedTuple

from webhook.diagnostics import Diagnostic
from webhook.manifests.files import read_file
from webhook.manifests.ignore import Patterns

_FILE = ".gitignore"
_EXCLUDE = ".git/info/exclude"
_LARGEST = 64 * 1024
"""Bytes of a file of patterns. A larger one, which would take seconds to compile, is left out: more is read then."""


class Rules(NamedTuple):
    """Patterns, and how a path below the walked folder becomes the path that they match."""

    patterns: Patterns
    above: str = ""
    """What precedes the path."""
    cut: int = 0
    """How many characters of the path are left out."""

    def match(self, path: str, *, folder: bool) -> bool | None:
        """Return whether a path is ignored; None where no pattern matches it."""
        return self.patterns.match(self.above + path[self.cut :], folder=folder)


def is_ignored(rules: tuple[Rules, ...], path: str, *, folder: bool) -> bool:
    """Return whether a path is ignored: the last rules that match it decide."""
    for one in reversed(rules):
        ignored = one.match(path, folder=folder)
        if ignored is not None:
            return ignored
    return False


def rules_of(folder: str, below: str) -> tuple[Rules, ...]:
    """Return the rules that a folder adds; `below` is its path below the walked folder, with a slash at the end."""
    return tuple(Rules(patterns, cut=len(below)) for patterns in _patterns(f"{folder}/{_FILE}"))


def rules_above(top: str) -> tuple[Rules, ...]:
    """Return the rules of the folders above a folder, up to the root of its repository, which may be itself.

    Where they ignore the folder as a whole there are none: a user who names it wants to read it.
    """
    top = os.path.realpath(top)
    folders = _from_repository(top)
    if not folders:
        return ()
    found = [(folders[0], patterns) for patterns in _patterns(f"{folders[0]}/{_EXCLUDE}")]
    for folder, inner in pairwise(folders):
        found += [(folder, patterns) for patterns in _patterns(f"{folder}/{_FILE}")]
        if is_ignored(_from(found, folder), basename(inner), folder=True):
            return ()
    return _from(found, top)


def _from(found: list[tuple[str, Patterns]], folder: str) -> tuple[Rules, ...]:
    """Return the rules for paths below a folder; each of the patterns comes with the folder that holds it."""
    return tuple(Rules(patterns, _between(base, folder)) for base, patterns in found)


def _from_repository(folder: str) -> list[str]:
    """Return the folders from the root of a repository down to one of its folders; none outside a repository."""
    folders = [folder]
    while not os.path.lexists(f"{folders[0]}/.git"):
        parent = dirname(folders[0])
        if parent == folders[0]:
            return []
        folders.insert(0, parent)
    return folders


def _between(base: str, folder: str) -> str:
    """Return the path from one folder to another one below it, with a slash at the end unless they are the same."""
    return "" if base == folder else f"{os.path.relpath(folder, base)}/"


def _patterns(file: str) -> list[Patterns]:
    data = read_file(file)
    if isinstance(data, Diagnostic) or len(data) > _LARGEST:
        return []
    return [Patterns(data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").split("\n"))]
