"""The files that folders and patterns select, and what is skipped there: by its name, its folder, git, or an option.

A file that a kustomization names is left out only where its content is part of what that builds, so that nothing can be
hidden: kustomize loads no file from outside the folder of the kustomization.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import translate
from itertools import accumulate
from posixpath import basename, normpath, split
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from webhook.diagnostics import Diagnostic, Unread, tallied
from webhook.manifests.files import Source, is_folder, leaves, mode_of, problem, read_file, reason_of, shown
from webhook.manifests.git import Ignored, WorkTrees
from webhook.manifests.manifest import Builds, Document
from webhook.manifests.recognition import (
    CHART_FILE,
    EXTENSIONS,
    KUSTOMIZATION_FILES,
    Reason,
    is_values_file,
    unbuilt,
    unrendered,
)
from webhook.manifests.stream import documents

if TYPE_CHECKING:
    from webhook.manifests.kustomize.build import Builder

_MAGIC = "*?["
_KINDS = f"{', '.join(EXTENSIONS[:-1])} or {EXTENSIONS[-1]} file"


def folder(
    name: str, exclude: Sequence[str], trees: WorkTrees, built: Kustomizations | None
) -> Iterator[Source | Builds | Unread | Diagnostic]:
    """Read the manifests of a folder and of those below it. Without `built`, kustomizations are not built."""
    search = _Search(name, trees, _excluded(exclude, name))
    yield from _searched(name, search, f"no {_KINDS} in this folder", built)


def matches(
    pattern: str, exclude: Sequence[str], trees: WorkTrees, built: Kustomizations | None
) -> Iterator[Source | Builds | Unread | Diagnostic]:
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
    search = _Search(top, trees, _excluded(exclude, top), levels, Patterns([f"/{'/'.join(rest)}"]))
    yield from _searched(pattern, search, nothing, built)


def excluded_file(name: str, exclude: Sequence[str]) -> Unread | None:
    """Return the entry of a file that is excluded, itself or with a folder above it; None for any other file."""
    *folders, file = _path(name)
    patterns = Patterns(exclude)
    within = any(patterns.match(one, folder=True) for one in accumulate(folders, "{}/{}".format))
    return Reason.EXCLUDED.skips(shown(name)) if within or patterns.match("/".join([*folders, file])) else None


class Kustomizations:
    """The kustomizations of a run, and which files need not be read because their content is in what has been built."""

    def __init__(self, tell: Callable[[Diagnostic], object]) -> None:
        self._tell = tell
        self._builder: Builder | None = None
        self._folders: dict[str, str] = {}

    def build(self, files: Sequence[str]) -> Iterator[Builds]:
        """Build what is not built yet of kustomizations, each with those that include it."""
        from webhook.manifests.kustomize.build import Builder  # most inputs have none

        self._builder = self._builder or Builder()
        built = self._builder.build(files)
        while self._builder.notes:
            self._tell(self._builder.notes.pop(0))
        if built:
            yield Builds(built[0].file, built, self._builder.contents)

    def holds(self, path: str) -> bool:
        """Return whether the content of a file is part of what has been built."""
        return self._builder is not None and self._real(path) in self._builder.used

    def unread(self, file: str) -> Unread | None:
        """Return the entry of a kustomization that is not built, or that lacks objects; None for any other."""
        why = None if self._builder is None else self._builder.unbuilt.get(os.path.realpath(split(file)[0]))
        return None if why is None else unbuilt(file, why)

    def is_whole(self, file: str) -> bool:
        """Return whether all objects of a kustomization are built."""
        return self.holds(file) and self.unread(file) is None

    def _real(self, path: str) -> str:
        above, name = os.path.split(path)
        if above not in self._folders:
            self._folders[above] = os.path.realpath(above)
        return f"{self._folders[above]}/{name}" if name not in ("", ".", "..") else os.path.realpath(path)


class NamedFiles:
    """Files that are named but treated as those of a folder: the working directory, or their own outside it."""

    def __init__(self, exclude: Sequence[str], trees: WorkTrees, built: Kustomizations | None) -> None:
        self._exclude = Patterns(exclude)
        self._trees = trees
        self._built = built
        self._places: dict[str, _Place] = {}

    def read(self, name: str) -> Iterator[Source | Unread | Diagnostic]:
        """Yield the content of a file, or why it is skipped."""
        found = self._found(name)
        if isinstance(found, Reason):
            yield found.skips(shown(name))
        else:
            yield from _read(found, self._built)

    def _found(self, name: str) -> _FoundFile | Reason:
        *folders, file = _path(name)
        top = folder = "." if folders else os.path.split(name)[0] or "."
        if _is_of_chart(top):
            return Reason.CHART
        place = self._known_place(None, top, top)
        for one in folders:
            if reason := place.reason(one, self._exclude, is_folder=True):
                return reason
            folder = f"{folder}/{one}"
            place = self._known_place(place, folder, top)
        if reason := place.reason(file, self._exclude, is_folder=False):
            return reason
        if leaves(name, top):
            return Reason.OUTSIDE
        mode = mode_of(name)  # a missing file is not skipped, but an error
        return Reason.IRREGULAR if mode and not stat.S_ISREG(mode) else _FoundFile(name, place.is_part(file))

    def _known_place(self, outer: _Place | None, folder: str, top: str) -> _Place:
        if folder not in self._places:
            names = {name for name in _MARKERS if os.path.lexists(f"{folder}/{name}")}
            names -= {name for name in names.intersection(KUSTOMIZATION_FILES) if leaves(f"{folder}/{name}", top)}
            self._places[folder] = _place(outer, folder, self._trees, names, self._exclude)
        return self._places[folder]


def _path(name: str) -> list[str]:
    """Return the path of a file from the working directory; its name alone where it is outside."""
    above, file = os.path.split(name)
    return f"{_from_here(above or '.')}{file}".split("/")


def _searched(
    name: str, search: _Search, nothing: str, built: Kustomizations | None
) -> Iterator[Source | Builds | Unread | Diagnostic]:
    """Read what is found in a folder. To find nothing is an error of the input, or a check of nothing would pass."""
    skipped: Counter[str] = Counter()
    has_input = False
    files: Iterable[_FoundFile | Unread | Diagnostic] = _walk(search)
    if built is not None:
        files = list(files)
        kustomizations = [one.path for one in files if isinstance(one, _FoundFile) and one.is_kustomization]
        for builds in built.build(kustomizations) if kustomizations else ():
            has_input = True
            yield builds
    for found in files:
        if isinstance(found, Unread):
            if search.only is None or not found.file.endswith("/"):
                skipped[found.reason] += 1
            yield found
        elif isinstance(found, Diagnostic):
            has_input = True
            yield found
        else:
            if found.is_kustomization and not (built is not None and built.is_whole(found.path)):
                skipped[Reason.KUSTOMIZATION] += 1  # what it builds is the input
            else:
                has_input = True
            yield from _read(found, built)
    if skipped and not has_input:
        instead = next((text for reason, text in _INSTEAD.items() if reason in skipped), "")
        yield problem(name, f"every file here is skipped ({tallied(skipped.most_common())}){instead}")
    elif not has_input:
        yield problem(name, nothing)


def read_found(name: str, built: Kustomizations | None) -> Iterator[Source | Unread | Diagnostic]:
    """Read a kustomization that is named as one that was found."""
    yield from _read(_FoundFile(name, is_part=True), built)


def _read(found: _FoundFile, built: Kustomizations | None) -> Iterator[Source | Unread | Diagnostic]:
    if found.is_kustomization:
        said = unbuilt(found.path) if built is None else built.unread(found.path)
        yield from () if said is None else (said,)
    if built is not None and built.holds(found.path):
        return
    data = read_file(found.path)
    yield data if isinstance(data, Diagnostic) else Source(shown(found.path), data, False, is_part=found.is_part)


_INSTEAD = {
    Reason.CHART: "; pipe `helm template` and name - instead",
    Reason.KUSTOMIZATION: "; pipe `kubectl kustomize` and name - instead",
}


def _excluded(exclude: Sequence[str], top: str) -> Patterns:
    """Return the patterns to exclude for the paths in a folder."""
    return Patterns(exclude, _from_here(top) if exclude else "")


def _from_here(folder: str) -> str:
    """Return the path from the working directory to a folder, with a slash at the end; empty for one outside it."""
    path = os.path.relpath(os.path.realpath(folder))
    return "" if path == "." or path.split("/")[0] == ".." else f"{path}/"


class _Search(NamedTuple):
    """What is looked for below a folder.

    `levels` counts the levels of folders below it, `exclude` matches what is left out, and `only` the files that are
    read; None stands for all.
    """

    top: str
    trees: WorkTrees
    exclude: Patterns
    levels: int = sys.maxsize
    only: Patterns | None = None


class _FoundFile(NamedTuple):
    """A file to read. `is_part`: it is a kustomization, or one merges it into objects."""

    path: str
    is_part: bool

    @property
    def is_kustomization(self) -> bool:
        """Whether it is a kustomization, by its name."""
        return basename(self.path) in KUSTOMIZATION_FILES


def _walk(search: _Search) -> Iterator[_FoundFile | Unread | Diagnostic]:
    """Yield the files to read, sorted in each folder, and what is skipped.

    A folder that is skipped counts as one. Links to folders are not followed, since they may form a cycle.
    """
    if _is_of_chart(search.top):
        yield Reason.CHART.skips(shown(search.top))
        return
    pending: list[tuple[_Place, Iterator[os.DirEntry[str]]]] = []
    yield from _open(pending, search, search.top)
    while pending:
        place, entries = pending[-1]
        entry = next(entries, None)
        if entry is None:
            pending.pop()
        elif not entry.is_dir(follow_symlinks=False):
            found = _file(place, entry, search)
            if found is not None:
                yield found
        elif place.level < search.levels and entry.name != ".git":
            reason = place.reason(entry.name, search.exclude, is_folder=True)
            if reason is None:
                yield from _open(pending, search, entry.path)
            else:
                yield reason.skips(f"{shown(entry.path)}/")


def _open(pending: list[tuple[_Place, Iterator[os.DirEntry[str]]]], search: _Search, path: str) -> Iterator[Diagnostic]:
    """Add a folder to those that are pending: the top, or a folder in the last one."""
    try:
        with os.scandir(path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield problem(path, reason_of(error))
        return
    names = {entry.name for entry in entries if entry.name not in KUSTOMIZATION_FILES or not _leaves(entry, search)}
    place = _place(pending[-1][0] if pending else None, path, search.trees, names, search.exclude)
    pending.append((place, iter(entries)))


def _leaves(entry: os.DirEntry[str], search: _Search) -> bool:
    return entry.is_symlink() and leaves(entry.path, search.top)


def _file(place: _Place, entry: os.DirEntry[str], search: _Search) -> _FoundFile | Unread | Diagnostic | None:
    """Return a file to read, or why it is not read; None for other files."""
    if entry.is_symlink() and is_folder(entry.path):
        if place.level == search.levels:
            return None
        reason = place.reason(entry.name, search.exclude, is_folder=True) or Reason.LINK
        return reason.skips(f"{shown(entry.path)}/")
    if not entry.name.endswith(EXTENSIONS) and entry.name not in KUSTOMIZATION_FILES:
        return None
    # A pattern selects a kustomization by any of the names that one may have.
    names = KUSTOMIZATION_FILES if entry.name in KUSTOMIZATION_FILES else (entry.name,)
    if search.only is not None and not any(search.only.match(place.below + name) for name in names):
        return None
    skipped = place.reason(entry.name, search.exclude, is_folder=False)
    if skipped is None and _leaves(entry, search):
        skipped = Reason.OUTSIDE
    try:
        # The folder says of most files that they are regular: no system call is needed.
        if skipped is None and not (entry.is_file(follow_symlinks=False) or stat.S_ISREG(entry.stat().st_mode)):
            skipped = Reason.IRREGULAR
    except OSError as error:
        return problem(entry.path, reason_of(error))
    if skipped is None:
        return _FoundFile(entry.path, place.is_part(entry.name))
    if skipped is Reason.CHART and entry.name == "values.yaml":
        return unrendered(entry.path, read_file(entry.path))
    return skipped.skips(shown(entry.path))


_MARKERS = (".git", CHART_FILE, *KUSTOMIZATION_FILES)
"""Files that say something about those beside them and below; not so a kustomization elsewhere, behind a link."""


class _Place(NamedTuple):
    """A folder of a search, at or below its top.

    `below` is its path below the top, with a slash at the end. `ignored` is what git ignores in it. `parts` holds the
    paths below the top of the files that kustomizations merge into objects, by the folders that hold them.
    """

    below: str
    ignored: Ignored
    parts: tuple[frozenset[str], ...]
    is_chart: bool

    @property
    def level(self) -> int:
        """The number of folders from the top to this one."""
        return self.below.count("/")

    def reason(self, name: str, exclude: Patterns, *, is_folder: bool) -> Reason | None:
        """Return why a file or folder in this folder is skipped; None where it is read."""
        if name == ".git":
            return Reason.GIT
        below = self.below + name
        if exclude.match(below, folder=is_folder):
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


def _place(outer: _Place | None, path: str, trees: WorkTrees, names: Collection[str], exclude: Patterns) -> _Place:
    """Return the place of a folder in an outer one, or of the top. `names` holds at least the markers of the folder."""
    parts: tuple[frozenset[str], ...] = ()
    if outer is None:
        below, ignored = "", trees.of(path)
    else:
        name = basename(path)
        below, parts = f"{outer.below}{name}/", outer.parts
        ignored = trees.within(path) if ".git" in names else outer.ignored.below(name)
    named = [name for name in KUSTOMIZATION_FILES if name in names and not exclude.match(below + name)]
    found = _parts_of(path, below, named)
    return _Place(below, ignored, (*parts, found) if found else parts, CHART_FILE in names)


def _is_of_chart(folder: str) -> bool:
    """Return whether a folder is, or is inside, the folder `templates` of a chart."""
    parent, name = split(os.path.realpath(folder))
    while name:
        if name == "templates" and os.path.lexists(f"{parent}/{CHART_FILE}"):
            return True
        parent, name = split(parent)
    return False


_WITH_PATH = ("patches", "patchesJson6902", "replacements")
"""Fields with parts in files of their own, beside those in `patchesStrategicMerge`."""


def _parts_of(path: str, below: str, names: Collection[str]) -> frozenset[str]:
    """Return the paths of the files that the kustomizations of a folder, which have these names, merge into objects.

    The paths begin where `below` does, which ends with a slash unless it is empty. Files that are applied as they are
    do not count. What cannot be read is reported where the file is read.
    """
    used: set[str] = set()
    for name in names:
        data = read_file(f"{path}/{name}")
        for found in () if isinstance(data, Diagnostic) else documents(name, data):
            if isinstance(found, Document) and isinstance(value := found.value, dict):
                files = _texts(value.get("patchesStrategicMerge"))
                for field in _WITH_PATH:
                    items = value.get(field)
                    if isinstance(items, list):
                        files += _texts([item.get("path") for item in items if isinstance(item, dict)])
                used |= set(files).difference(_texts(value.get("resources")), _texts(value.get("bases")))
    return frozenset(normpath(below + name) for name in used)


def _texts(value: object) -> list[str]:
    """Return the names in a list; text over several lines is a patch itself."""
    return [one for one in value if isinstance(one, str) and "\n" not in one] if isinstance(value, list) else []


_Name: TypeAlias = "Callable[[str], object] | None"
"""Matches one name; None stands for `**`, any number of folders."""


class _Rule(NamedTuple):
    excludes: bool
    only_folders: bool
    names: Sequence[_Name]


class Patterns:
    """Patterns in order: the last one that matches a path decides about it.

    `above` leads from where the patterns begin to where the paths begin; it ends with a slash unless it is empty.
    """

    def __init__(self, lines: Iterable[str], above: str = "") -> None:
        self._above = above
        self._rules = [_rule(line) for line in lines if line.rstrip(" ") and not line.startswith("#")]

    def match(self, path: str, *, folder: bool = False) -> bool | None:
        """Return whether a path is excluded; None where no pattern matches it.

        The path has `/` between its names. What is below an excluded folder is excluded, too, but not matched here.
        """
        names = f"{self._above}{path}".split("/")
        for rule in reversed(self._rules):
            if (folder or not rule.only_folders) and _fits(rule.names, names):
                return rule.excludes
        return None


def _rule(line: str) -> _Rule:
    pattern = re.sub(r"(?<!\\) +$", "", line.removeprefix("!"))
    pattern = re.sub(r"\*{3,}", "**", pattern)
    names = pattern.removeprefix("/").removesuffix("/").split("/")
    if "/" not in pattern.removesuffix("/"):
        names.insert(0, "**")  # a pattern without a slash is about the name alone, at any depth
    if names[-1] == "**":
        names.append("*")  # everything below, but not the folder itself
    return _Rule(not line.startswith("!"), pattern.endswith("/"), [_name(name) for name in names])


def _name(name: str) -> _Name:
    if name == "**":
        return None
    unescaped = re.sub(r"\\(.)", lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1], name)
    return re.compile(translate(unescaped.replace("[^", "[!"))).match


def _fits(pattern: Sequence[_Name], names: Sequence[str]) -> bool:
    """Return whether a pattern matches a path.

    The first place at which the names after a `**` match leaves the most to what follows: no earlier `**` is retried.
    """
    step = place = 0
    retry: tuple[int, int] | None = None
    while place < len(names):
        matches = pattern[step] if step < len(pattern) else None
        if matches is not None and matches(names[place]):
            step, place = step + 1, place + 1
        elif matches is None and step < len(pattern):
            step += 1
            retry = step, place
        elif retry is not None:
            step, place = retry[0], retry[1] + 1
            retry = step, place
        else:
            return False
    return step == len(pattern)
