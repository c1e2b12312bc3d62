"""The files of a folder that are read, and those that are skipped because of their names and places."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests.files import problem, read_file, reason_of, shown
from webhook.manifests.gitignore import Rules, is_ignored, rules_above, rules_of
from webhook.manifests.ignore import Patterns
from webhook.manifests.kustomizations import used_files
from webhook.manifests.recognition import CHART_FILE, KUSTOMIZATION_FILES, Reason, is_values_file

EXTENSIONS = (".json", ".jsonl", ".ndjson", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for in a folder.

    `levels` counts the levels of folders below it, `exclude` matches what is left out, and `only` the files that are
    read; None stands for no such pattern.
    """

    levels: int
    exclude: Rules | None = None
    only: Patterns | None = None


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder during a walk.

    `below` is its path below the walked folder, with a slash at the end. `used` holds such paths of files that
    kustomizations use.
    """

    path: str
    below: str
    level: int
    entries: Iterator[os.DirEntry[str]]
    rules: tuple[Rules, ...]
    used: frozenset[str]
    is_chart: bool


def walk(top: str, search: Search) -> Iterator[str | Unread | Diagnostic]:
    """Yield the paths of the files to read, sorted in each folder, and what is skipped.

    A folder that is skipped counts as one. Links to folders are not followed, since they may form a cycle.
    """
    if _is_of_chart(top):
        yield Reason.CHART.skips(shown(top))
        return
    pending: list[_Folder] = []
    yield from _open(pending, top, "", 0, rules_above(top), frozenset())
    while pending:
        folder = pending[-1]
        entry = next(folder.entries, None)
        if entry is None:
            pending.pop()
        elif not entry.is_dir(follow_symlinks=False):
            yield from _file(folder, entry, search)
        elif folder.level < search.levels and entry.name != ".git":
            reason = _reason(folder, entry.name, search, is_folder=True)
            if reason is None:
                below = f"{folder.below}{entry.name}/"
                yield from _open(pending, entry.path, below, folder.level + 1, folder.rules, folder.used)
            else:
                yield reason.skips(f"{shown(entry.path)}/")


def _is_of_chart(top: str) -> bool:
    """Return whether a folder is, or is inside, the folder `templates` of a chart."""
    parent, name = os.path.split(os.path.realpath(top))
    while name:
        if name == "templates" and os.path.exists(f"{parent}/{CHART_FILE}"):  # noqa: PTH110
            return True
        parent, name = os.path.split(parent)
    return False


def _open(
    pending: list[_Folder], path: str, below: str, level: int, rules: tuple[Rules, ...], used: frozenset[str]
) -> Iterator[Diagnostic]:
    """Add a folder to those pending, with the rules and the kustomization that it holds."""
    try:
        with os.scandir(path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield problem(path, reason_of(error))
        return
    names = {entry.name for entry in entries}
    if ".git" in names and below:
        rules = ()  # A repository inside another one: git applies its own rules only.
    if ".gitignore" in names:
        rules += rules_of(path, below)
    for name in KUSTOMIZATION_FILES:
        if name in names:
            using = _used(f"{path}/{name}", below)
            if isinstance(using, Diagnostic):
                yield using
            else:
                used |= using
    pending.append(_Folder(path, below, level, iter(entries), rules, used, CHART_FILE in names))


def _used(kustomization: str, below: str) -> frozenset[str] | Diagnostic:
    data = read_file(kustomization)
    return data if isinstance(data, Diagnostic) else used_files(shown(kustomization), data, below)


def _file(folder: _Folder, entry: os.DirEntry[str], search: Search) -> Iterator[str | Unread | Diagnostic]:
    is_wanted = entry.name.endswith(EXTENSIONS) and (
        search.only is None or search.only.match(folder.below + entry.name) is True
    )
    if not is_wanted and not entry.is_symlink():
        return
    try:
        mode = entry.stat().st_mode if not entry.is_file(follow_symlinks=False) else stat.S_IFREG
    except OSError as error:
        # A file that is not a manifest by its name is no problem.
        if is_wanted:
            yield problem(entry.path, reason_of(error))
        return
    if stat.S_ISDIR(mode):
        if folder.level < search.levels:
            yield Reason.LINK.skips(f"{shown(entry.path)}/")
    elif is_wanted:
        reason = _reason(folder, entry.name, search, is_folder=False)
        if reason is not None:
            yield reason.skips(shown(entry.path))
        elif stat.S_ISREG(mode):
            yield entry.path
        else:
            # Reading a named pipe might never end.
            yield problem(entry.path, "not a regular file")


def _reason(folder: _Folder, name: str, search: Search, *, is_folder: bool) -> Reason | None:
    """Return why a file or folder is skipped; None where it is read."""
    if name.startswith("."):
        return Reason.HIDDEN
    below = folder.below + name
    if search.exclude is not None and search.exclude.match(below, folder=is_folder):
        return Reason.EXCLUDED
    if is_ignored(folder.rules, below, folder=is_folder):
        return Reason.IGNORED
    if folder.is_chart and (name == "templates" if is_folder else name == CHART_FILE or is_values_file(name)):
        return Reason.CHART
    if below in folder.used or (name in KUSTOMIZATION_FILES and not is_folder):
        return Reason.KUSTOMIZATION
    return None
