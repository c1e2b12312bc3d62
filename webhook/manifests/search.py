"""The files that folders and patterns select, less those that are excluded."""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests.files import Source, is_folder, leaves, mode_of, problem, read_file, shown
from webhook.manifests.folders import Found, Search, walk
from webhook.manifests.ignore import Patterns
from webhook.manifests.places import Place, inner_place, is_of_chart, markers, top_place
from webhook.manifests.recognition import EXTENSIONS, Reason, unbuilt
from webhook.manifests.worktrees import WorkTrees

_MAGIC = "*?["
_KINDS = f"{', '.join(EXTENSIONS[:-1])} or {EXTENSIONS[-1]} file"


def folder(name: str, exclude: Sequence[str], trees: WorkTrees) -> Iterator[Source | Unread | Diagnostic]:
    """Read the manifests of a folder and of those below it."""
    yield from _searched(name, Search(name, trees, _below(exclude, name)), f"no {_KINDS} in this folder")


def matches(pattern: str, exclude: Sequence[str], trees: WorkTrees) -> Iterator[Source | Unread | Diagnostic]:
    """Read the files that a pattern matches below the folder with which it begins."""
    names = pattern.split("/")
    fixed = next(index for index, name in enumerate(names) if any(one in name for one in _MAGIC))
    top = "/".join(names[:fixed]) or ("/" if fixed else ".")
    rest = names[fixed:]
    levels = sys.maxsize if "**" in rest else len(rest) - 1
    nothing = f"no {_KINDS} matches this pattern"
    if not is_folder(top):
        yield problem(pattern, nothing)
        return
    search = Search(top, trees, _below(exclude, top), levels, Patterns([f"/{'/'.join(rest)}"]))
    yield from _searched(pattern, search, nothing)


def excluded_file(name: str, exclude: Sequence[str]) -> Unread | None:
    """Return the entry of a file that is excluded, itself or with a folder above it; None for any other file."""
    *folders, file = _path(name)
    patterns = Patterns(exclude)
    within = any(patterns.match(one, folder=True) for one in accumulate(folders, "{}/{}".format))
    return Reason.EXCLUDED.skips(shown(name)) if within or patterns.match("/".join([*folders, file])) else None


class NamedFiles:
    """Files that are named but treated as those of a folder: the working directory, or their own outside it."""

    __slots__ = ("_exclude", "_places", "_trees")

    def __init__(self, exclude: Sequence[str], trees: WorkTrees) -> None:
        self._exclude = Patterns(exclude) if exclude else None
        self._trees = trees
        self._places: dict[str, Place] = {}

    def read(self, name: str) -> Iterator[Source | Unread | Diagnostic]:
        """Yield the content of a file, or why it is skipped."""
        found = self._found(name)
        if isinstance(found, Reason):
            yield found.skips(shown(name))
        else:
            yield from _read(found)

    def _found(self, name: str) -> Found | Reason:
        *folders, file = _path(name)
        top = "." if folders else os.path.split(name)[0] or "."
        folder = top
        if is_of_chart(folder):
            return Reason.CHART
        place = self._places.get(top) or self._places.setdefault(top, top_place(top, self._trees, markers(top, top)))
        for one in folders:
            reason = place.reason(one, self._exclude, is_folder=True)
            if reason is not None:
                return reason
            folder = f"{folder}/{one}"
            place = self._places.get(folder) or self._places.setdefault(
                folder, inner_place(place, folder, one, self._trees, markers(folder, top))
            )
        return (
            place.reason(file, self._exclude, is_folder=False)
            or _reason_of_file(name, top)
            or Found(name, place.is_part(file))
        )


def _reason_of_file(name: str, top: str) -> Reason | None:
    """Return why a file is skipped because of what it is. One that is missing is not skipped, but an error."""
    if leaves(name, top):
        return Reason.OUTSIDE
    mode = mode_of(name)
    return Reason.IRREGULAR if mode and not stat.S_ISREG(mode) else None


def _path(name: str) -> list[str]:
    """Return the path of a file from the working directory; its name alone where it is outside."""
    above, file = os.path.split(name)
    return f"{_from_here(above or '.')}{file}".split("/")


def _searched(name: str, search: Search, nothing: str) -> Iterator[Source | Unread | Diagnostic]:
    """Read what is found in a folder. To find nothing is an error of the input, or a check of nothing would pass."""
    skipped: Counter[str] = Counter()
    has_input = False
    for found in walk(search):
        if isinstance(found, Unread):
            if search.only is None or not found.file.endswith("/"):
                skipped[found.reason] += 1
            yield found
        elif isinstance(found, Diagnostic):
            has_input = True
            yield found
        else:
            if found.is_kustomization:
                skipped[Reason.KUSTOMIZATION] += 1  # what it builds is the input
            else:
                has_input = True
            yield from _read(found)
    if not has_input:
        yield problem(name, _all_skipped(skipped) if skipped else nothing)


def _read(found: Found) -> Iterator[Source | Unread | Diagnostic]:
    if found.is_kustomization:
        yield unbuilt(found.path)
    data = read_file(found.path)
    yield data if isinstance(data, Diagnostic) else Source(shown(found.path), data, False, is_part=found.is_part)


_INSTEAD = {
    Reason.CHART: "; pipe `helm template` and name - instead",
    Reason.KUSTOMIZATION: "; pipe `kubectl kustomize` and name - instead",
}


def _all_skipped(skipped: Counter[str]) -> str:
    counts = ", ".join(f"{count} {reason}" for reason, count in skipped.most_common())
    instead = next((text for reason, text in _INSTEAD.items() if reason in skipped), "")
    return f"every file here is skipped ({counts}){instead}"


def _below(exclude: Sequence[str], top: str) -> Patterns | None:
    """Return the patterns to exclude for the paths in a folder; None without patterns."""
    return Patterns(exclude, _from_here(top)) if exclude else None


def _from_here(folder: str) -> str:
    """Return the path from the working directory to a folder, with a slash at the end; empty for one outside it."""
    path = os.path.relpath(os.path.realpath(folder))
    return "" if path == "." or path.split("/")[0] == ".." else f"{path}/"
