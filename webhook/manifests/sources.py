"""The inputs that the command line names: files, folders, patterns and standard input."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, TypeAlias

from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests.files import Source, is_folder, mode_of, problem, reason_of, shown, whole

STDIN = "<stdin>"

Reading: TypeAlias = Callable[[str, BinaryIO], Iterator[Source | Diagnostic]]
"""Reads the stream of an input that has a name. Raises OSError or ValueError."""


def sources(
    names: Sequence[str],
    stdin: BinaryIO,
    tell: Callable[[Diagnostic], object],
    exclude: Sequence[str] = (),
    reading: Reading = whole,
    *,
    as_in_folder: bool = False,
) -> Iterator[Source | Unread | Diagnostic]:
    """Yield each input in the order given: files, `-` for standard input, the files of folders and of patterns.

    A pattern is one for the shell that no shell has expanded. Patterns to exclude are relative to the working
    directory; for paths outside it, to the folder that is named. With `as_in_folder`, named files are treated like
    those of folders and of patterns, which are read at once. `tell` gets remarks that are no errors of an input.
    """
    trees: WorkTrees | None = None
    named_files: NamedFiles | None = None
    for name in names:
        if name in ("-", "") or not (exclude or as_in_folder or is_folder(name) or _is_pattern(name)):
            yield from _named(name, stdin, reading)
            continue
        # A file needs none of this.
        from webhook.manifests.folders import NamedFiles, excluded_file, folder, matches
        from webhook.manifests.git import WorkTrees

        trees = trees or WorkTrees(tell)
        if is_folder(name):
            yield from folder(name, exclude, trees)
        elif _is_pattern(name):
            yield from matches(name, exclude, trees)
        elif as_in_folder and _SCHEME not in name and not name.startswith(_STREAMS):
            named_files = named_files or NamedFiles(exclude, trees)
            yield from named_files.read(name)
        elif (excluded := excluded_file(name, exclude)) is not None:
            yield excluded
        else:
            yield from _named(name, stdin, reading)


_SCHEME = "://"
_STREAMS = ("/dev/fd/", "/proc/self/fd/")
"""How the names of the output of another command, `<(helm template …)`, begin in bash and zsh."""


def _is_pattern(name: str) -> bool:
    return any(one in name for one in "*?[") and _SCHEME not in name and not os.path.lexists(name)


def source(name: str, stdin: BinaryIO) -> Source | Diagnostic:
    """Return one input: a file, or standard input for `-`."""
    return next(_named(name, stdin, whole))


def _named(name: str, stdin: BinaryIO, reading: Reading) -> Iterator[Source | Diagnostic]:
    file = STDIN if name == "-" else shown(name)
    try:
        if name == "-":
            yield from reading(file, stdin)
        elif not name:
            # For open() it would be a file that does not exist; it usually stands for a variable that is not set.
            yield problem('""', "the name is empty; name a file")
        elif _SCHEME in name:
            yield problem(file, "URLs are not fetched; download the file, or pipe it and name -")
        elif is_folder(name):
            yield problem(file, "is a folder; name a file")
        else:
            with open(name, "rb") as stream:  # noqa: PTH123 - as in `mode_of`
                yield from reading(file, stream)
    except (OSError, ValueError) as error:
        yield problem(file, reason_of(error))


def is_pipe(name: str) -> bool:
    """Return whether an input is the output of another command: standard input, or a named pipe of the shell."""
    return name == STDIN or stat.S_ISFIFO(mode_of(name))
