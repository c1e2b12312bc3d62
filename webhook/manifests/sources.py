"""The inputs that the command line names: files, folders, patterns and standard input."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests.files import Source, is_folder, mode_of, problem, read_file, read_stream, shown

STDIN = "<stdin>"


def sources(
    names: Sequence[str], recursive: bool, stdin: BinaryIO, exclude: Sequence[str] = (), as_in_folder: bool = False
) -> Iterator[Source | Unread | Diagnostic]:
    """Yield each input in the order given: files, `-` for standard input, the files of folders and of patterns.

    A pattern is one for the shell that no shell has expanded. Patterns to exclude are relative to the working
    directory; for paths outside it, to the folder that is named. With `as_in_folder` named files are treated like those
    that are found in a folder.
    """
    named_files: NamedFiles | None = None
    for name in names:
        if name in _NO_PATH or not (exclude or as_in_folder or is_folder(name) or _is_pattern(name)):
            yield source(name, stdin)
            continue
        # A file needs none of this.
        from webhook.manifests.search import NamedFiles, excluded_file, folder, matches

        if is_folder(name):
            yield from folder(name, recursive, exclude)
        elif _is_pattern(name):
            yield from matches(name, exclude)
        elif as_in_folder and _SCHEME not in name:
            named_files = named_files or NamedFiles(exclude)
            yield named_files.read(name)
        else:
            yield excluded_file(name, exclude) or source(name, stdin)


_NO_PATH = ("-", "")
_SCHEME = "://"


def _is_pattern(name: str) -> bool:
    return any(one in name for one in "*?[") and _SCHEME not in name and not os.path.lexists(name)


def source(name: str, stdin: BinaryIO) -> Source | Diagnostic:
    """Return one input: a file, or standard input for `-`."""
    if name == "-":
        data = read_stream(STDIN, stdin)
        return data if isinstance(data, Diagnostic) else Source(STDIN, data)
    if not name:
        # For open() it would be a file that does not exist; it usually stands for a variable that is not set.
        return Diagnostic('""', 0, 0, "the name is empty; name a file")
    if _SCHEME in name:
        return problem(name, "URLs are not fetched; download the file, or pipe it and name -")
    if is_folder(name):
        return problem(name, "is a folder; name a file")
    data = read_file(name)
    return data if isinstance(data, Diagnostic) else Source(shown(name), data)


def is_pipe(name: str) -> bool:
    """Return whether an input is the output of another command: standard input, or a named pipe of the shell."""
    return name == STDIN or stat.S_ISFIFO(mode_of(name))
