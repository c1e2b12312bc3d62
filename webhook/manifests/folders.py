"""The files of a folder that are read, and what is skipped in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from posixpath import basename
from typing import NamedTuple

from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests.files import problem, reason_of, shown
from webhook.manifests.gitignore import Rules
from webhook.manifests.ignore import Patterns
from webhook.manifests.places import Place, inner_place, is_of_chart, top_place
from webhook.manifests.recognition import KUSTOMIZATION_FILES, Reason

EXTENSIONS = (".json", ".jsonl", ".ndjson", ".yaml", ".yml")


class Search(NamedTuple):
    """What is looked for in a folder.

    `levels` counts the levels of folders below it, `exclude` matches what is left out, and `only` the files that are
    read; None stands for no such pattern.
    """

    levels: int
    exclude: Rules | None = None
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


def walk(top: str, search: Search) -> Iterator[Found | Unread | Diagnostic]:
    """Yield the files to read, sorted in each folder, and what is skipped.

    A folder that is skipped counts as one. Links to folders are not followed, since they may form a cycle.
    """
    if is_of_chart(top):
        yield Reason.CHART.skips(shown(top))
        return
    pending: list[_Folder] = []
    yield from _open(pending, top, "")
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
                yield from _open(pending, entry.path, entry.name)
            else:
                yield reason.skips(f"{shown(entry.path)}/")


def _open(pending: list[_Folder], path: str, name: str) -> Iterator[Diagnostic]:
    """Add a folder to those that are pending: the top, or a folder in the last one."""
    try:
        with os.scandir(path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield problem(path, reason_of(error))
        return
    names = {entry.name for entry in entries}
    place = inner_place(pending[-1].place, path, name, names) if pending else top_place(path, names)
    pending.append(_Folder(len(pending), place, iter(entries)))


def _file(folder: _Folder, entry: os.DirEntry[str], search: Search) -> Found | Unread | Diagnostic | None:
    """Return a file to read, or why it is not read; None for what is not looked for."""
    is_wanted = (entry.name.endswith(EXTENSIONS) or entry.name in KUSTOMIZATION_FILES) and (
        search.only is None or search.only.match(folder.place.below + entry.name) is True
    )
    if not is_wanted and not entry.is_symlink():
        return None
    try:
        mode = stat.S_IFREG if entry.is_file(follow_symlinks=False) else entry.stat().st_mode
    except OSError as error:
        # What is no manifest by its name may be anything.
        return problem(entry.path, reason_of(error)) if is_wanted else None
    if stat.S_ISDIR(mode):
        return Reason.LINK.skips(f"{shown(entry.path)}/") if folder.level < search.levels else None
    if not is_wanted:
        return None
    reason = folder.place.reason(entry.name, search.exclude, is_folder=False)
    if reason is not None:
        return reason.skips(shown(entry.path))
    # Reading a named pipe might never end.
    if not stat.S_ISREG(mode):
        return problem(entry.path, "not a regular file")
    return Found(entry.path, folder.place.is_part(entry.name))
