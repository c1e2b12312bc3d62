"""The inputs that the command line names: files, folders, patterns and standard input."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import BinaryIO, NamedTuple

from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests.files import problem, read_file, read_stream, shown
from webhook.manifests.folders import EXTENSIONS, Search, walk
from webhook.manifests.gitignore import Rules
from webhook.manifests.ignore import Patterns
from webhook.manifests.recognition import Reason
from webhook.policy.printable import printable

STDIN = "<stdin>"
_URL = re.compile(r"(?:git::)?[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_MAGIC = re.compile(r"[*?\[]")
_KINDS = f"{', '.join(EXTENSIONS[:-1])} or {EXTENSIONS[-1]} file"


class Source(NamedTuple):
    """One input: the name of its file and its content. `named` is False for a file that was found in a folder."""

    file: str
    data: bytes
    named: bool = True


def sources(
    names: Sequence[str], recursive: bool, stdin: BinaryIO, exclude: Sequence[str] = ()
) -> Iterator[Source | Unread | Diagnostic]:
    """Yield each input in the order given: files, `-` for standard input, the files of folders and of patterns.

    Of a folder, the files that may hold manifests by their names are read, sorted; see `folders` for those that are
    skipped. A pattern is one for the shell that no shell has expanded. Patterns to exclude are relative to the working
    directory; for paths outside it, to the folder that is named.
    """
    excluded = Patterns(exclude)
    for name in names:
        if name in ("-", ""):
            yield source(name, stdin)
        elif _is_folder(name):
            search = Search(sys.maxsize if recursive else 0, _below(excluded, name))
            yield from _searched(name, name, search, _no_manifest(recursive))
        elif _MAGIC.search(name) and not os.path.lexists(name):
            yield from _matches(name, excluded)
        elif _is_excluded(name, excluded):
            yield Reason.EXCLUDED.skips(shown(name))
        else:
            yield source(name, stdin)


def source(name: str, stdin: BinaryIO) -> Source | Diagnostic:
    """Return one input: a file, or standard input for `-`."""
    if name == "-":
        data = read_stream(STDIN, stdin)
        return data if isinstance(data, Diagnostic) else Source(STDIN, data)
    if not name:
        # For open() it would be a file that does not exist; it usually stands for a variable that is not set.
        return Diagnostic('""', 0, 0, "the name is empty; name a file")
    if _URL.match(name):
        return problem(name, "URLs are not fetched; download the file, or pipe it and name -")
    if _is_folder(name):
        return problem(name, "is a folder; name a file")
    data = read_file(name)
    return data if isinstance(data, Diagnostic) else Source(shown(name), data)


def is_pipe(name: str) -> bool:
    """Return whether an input is the output of another command: standard input, or a named pipe of the shell."""
    return name == STDIN or stat.S_ISFIFO(_mode(name))


def _searched(name: str, top: str, search: Search, nothing: str) -> Iterator[Source | Unread | Diagnostic]:
    """Read what is found in a folder. To find nothing is an error of the input, or a check of nothing would pass."""
    skipped: Counter[str] = Counter()
    has_input = False
    for found in walk(top, search):
        if isinstance(found, Unread):
            if search.only is None or not found.file.endswith("/"):
                skipped[found.reason] += 1
            yield found
            continue
        has_input = True
        data = found if isinstance(found, Diagnostic) else read_file(found)
        yield data if isinstance(data, Diagnostic) else Source(shown(str(found)), data, named=False)
    if not has_input:
        yield problem(name, _all_skipped(skipped) if skipped else nothing)


def _no_manifest(recursive: bool) -> str:
    deeper = "" if recursive else "; -R reads the folders below as well"
    return f"no {_KINDS} in this folder{deeper}"


_INSTEAD = {
    Reason.CHART: "; pipe `helm template` instead",
    Reason.KUSTOMIZATION: "; pipe `kubectl kustomize` instead",
}


def _all_skipped(skipped: Counter[str]) -> str:
    counts = ", ".join(f"{count} {reason}" for reason, count in skipped.most_common())
    instead = next((text for reason, text in _INSTEAD.items() if reason in skipped), "")
    return f"every file here is skipped ({counts}){instead}"


def _matches(pattern: str, excluded: Patterns) -> Iterator[Source | Unread | Diagnostic]:
    """Read the files that a pattern matches below the folder with which it begins."""
    names = pattern.split("/")
    fixed = next(index for index, name in enumerate(names) if _MAGIC.search(name))
    top = "/".join(names[:fixed]) or ("/" if fixed else ".")
    rest = names[fixed:]
    levels = sys.maxsize if "**" in rest else len(rest) - 1
    search = Search(levels, _below(excluded, top), Patterns([f"/{'/'.join(rest)}"]))
    if not _is_folder(top):
        yield problem(pattern, f"no folder {printable(shown(top))} to look for this pattern")
        return
    yield from _searched(pattern, top, search, f"no {_KINDS} matches this pattern")


def _below(excluded: Patterns, top: str) -> Rules | None:
    """Return the patterns to exclude as rules for a folder; None without patterns."""
    return Rules(excluded, _from_here(top)) if excluded else None


def _from_here(folder: str) -> str:
    """Return the path from the working directory to a folder, with a slash at the end; empty for one outside it."""
    path = os.path.relpath(os.path.realpath(folder))
    return "" if path == "." or path.split("/")[0] == ".." else f"{path}/"


def _is_excluded(name: str, excluded: Patterns) -> bool:
    """Return whether a file that is named is excluded, or a folder above it."""
    folder, file = os.path.split(name)
    path = _from_here(folder or ".") + file
    parents = accumulate(path.split("/")[:-1], lambda above, name: f"{above}/{name}")
    return any(excluded.match(parent, folder=True) for parent in parents) or excluded.match(path) is True


def _is_folder(name: str) -> bool:
    return stat.S_ISDIR(_mode(name))


def _mode(name: str) -> int:
    """Return the mode of what a path leads to; 0 where that fails. Reading the file then reports the reason."""
    try:
        return os.stat(name).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return 0
