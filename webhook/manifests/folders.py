"""The files of a folder that are read, and what is skipped in it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from posixpath import basename
from typing import NamedTuple

from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests.files import is_folder, leaves, problem, reason_of, shown
from webhook.manifests.ignore import Patterns
from webhook.manifests.places import Place, inner_place, is_of_chart, top_place
from webhook.manifests.recognition import EXTENSIONS, KUSTOMIZATION_FILES, Reason
from webhook.manifests.worktrees import WorkTrees


class Search(NamedTuple):
    """What is looked for below a folder.

    `levels` counts the levels of folders below it, `exclude` matches what is left out, and `only` the files that are
    read; None stands for no such pattern.
    """

    top: str
    trees: WorkTrees
    exclude: Patterns | None = None
    levels: int = sys.maxsize
    only: Patterns | None = None


class Found(NamedTuple):
    """A file to read. `is_part`: it is a kustomization, or one merges it into objects."""

    path: str
    is_part: bool

    @property
    def is_kustomization(self) -> bool:
        """Whether it is a kustomization, by its name."""
        return basename(self.path) in KUSTOMIZATION_FILES


class _Folder(NamedTuple):
    """A folder during a walk: its level below the top, and the entries that remain."""

    level: int
    place: Place
    entries: Iterator[os.DirEntry[str]]


def walk(search: Search) -> Iterator[Found | Unread | Diagnostic]:
    """Yield the files to read, sorted in each folder, and what is skipped.

    A folder that is skipped counts as one. Links to folders are not followed, since they may form a cycle.
    """
    if is_of_chart(search.top):
        yield Reason.CHART.skips(shown(search.top))
        return
    pending: list[_Folder] = []
    yield from _open(pending, search, search.top, "")
    while pending:
        folder = pending[-1]
        entry = next(folder.entries, None)
        if entry is None:
            pending.pop()
        elif not entry.is_dir(follow_symlinks=False):
            found = _file(folder, entry, search)
            if found is not None:
                yield found
        elif folder.level < search.levels and entry.name != ".git":
            reason = folder.place.reason(entry.name, search.exclude, is_folder=True)
            if reason is None:
                yield from _open(pending, search, entry.path, entry.name)
            else:
                yield reason.skips(f"{shown(entry.path)}/")


def _open(pending: list[_Folder], search: Search, path: str, name: str) -> Iterator[Diagnostic]:
    """Add a folder to those that are pending: the top, or a folder in the last one."""
    try:
        with os.scandir(path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield problem(path, reason_of(error))
        return
    names = {entry.name for entry in entries if entry.name not in KUSTOMIZATION_FILES or not _leaves(entry, search)}
    trees = search.trees
    place = inner_place(pending[-1].place, path, name, trees, names) if pending else top_place(path, trees, names)
    pending.append(_Folder(len(pending), place, iter(entries)))


def _leaves(entry: os.DirEntry[str], search: Search) -> bool:
    return entry.is_symlink() and leaves(entry.path, search.top)


def _file(folder: _Folder, entry: os.DirEntry[str], search: Search) -> Found | Unread | Diagnostic | None:
    """Return a file to read, or why it is not read; None for what is not looked for."""
    if entry.is_symlink() and is_folder(entry.path):
        return _link_to_folder(folder, entry, search)
    if not entry.name.endswith(EXTENSIONS) and entry.name not in KUSTOMIZATION_FILES:
        return None
    if search.only is not None and not _is_selected(search.only, folder.place.below, entry.name):
        return None
    reason = folder.place.reason(entry.name, search.exclude, is_folder=False)
    if reason is None and _leaves(entry, search):
        reason = Reason.OUTSIDE
    try:
        if reason is None and not stat.S_ISREG(_type(entry)):
            reason = Reason.IRREGULAR
    except OSError as error:
        return problem(entry.path, reason_of(error))
    return Found(entry.path, folder.place.is_part(entry.name)) if reason is None else reason.skips(shown(entry.path))


def _is_selected(only: Patterns, below: str, name: str) -> bool:
    """Return whether a pattern matches a file. It selects a kustomization by any of the names that one may have."""
    names = KUSTOMIZATION_FILES if name in KUSTOMIZATION_FILES else (name,)
    return any(only.match(below + one) for one in names)


def _type(entry: os.DirEntry[str]) -> int:
    """Return the type of what an entry leads to. For a regular file, the folder says so: no system call is needed."""
    return stat.S_IFREG if entry.is_file(follow_symlinks=False) else entry.stat().st_mode


def _link_to_folder(folder: _Folder, entry: os.DirEntry[str], search: Search) -> Unread | None:
    """Return why a link is not followed; None where no folder is looked at."""
    if folder.level == search.levels:
        return None
    reason = folder.place.reason(entry.name, search.exclude, is_folder=True) or Reason.LINK
    return reason.skips(f"{shown(entry.path)}/")
