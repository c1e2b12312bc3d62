"""The inputs that the command line names: files, folders, patterns and standard input."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from posixpath import basename
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests.files import Source, is_folder, mode_of, problem, reason_of, shown, whole
from webhook.manifests.manifest import Builds
from webhook.manifests.recognition import KUSTOMIZATION_FILES

if TYPE_CHECKING:
    from webhook.manifests.folders import Kustomizations

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
    builds: bool = False,
) -> Iterator[Source | Builds | Unread | Diagnostic]:
    """Yield each input in the order given: files, `-` for standard input, the files of folders and of patterns.

    A pattern is one for the shell that no shell has expanded. Patterns to exclude are relative to the working
    directory; for paths outside it, to the folder that is named. With `as_in_folder`, named files are treated like
    those of folders and of patterns, which are read at once. With `builds`, kustomizations are built. `tell` gets
    remarks that are no errors of an input.
    """
    trees: WorkTrees | None = None
    named_files: NamedFiles | None = None
    built: Kustomizations | None = None
    named = {name for name in names if builds and basename(name) in KUSTOMIZATION_FILES and os.path.lexists(name)}
    if named:
        from webhook.manifests.folders import Kustomizations, excluded_file

        built = Kustomizations(tell)
        yield from built.build([name for name in names if name in named and excluded_file(name, exclude) is None])
    for name in names:
        if built is not None and name not in named and not is_folder(name) and built.holds(name):
            continue
        is_alone = not (exclude or as_in_folder or name in named or is_folder(name) or _is_pattern(name))
        if is_alone or name in ("-", ""):
            yield from _named(name, stdin, reading)
            continue
        # A file needs none of this.
        from webhook.manifests.folders import Kustomizations, NamedFiles, excluded_file, folder, matches, read_found
        from webhook.manifests.git import WorkTrees

        if builds:
            built = built or Kustomizations(tell)
        trees = trees or WorkTrees(tell)
        if is_folder(name):
            yield from folder(name, exclude, trees, built)
        elif _is_pattern(name):
            yield from matches(name, exclude, trees, built)
        elif as_in_folder and _SCHEME not in name and not name.startswith(_STREAMS):
            named_files = named_files or NamedFiles(exclude, trees, built)
            yield from named_files.read(name)
        elif (excluded := excluded_file(name, exclude)) is not None:
            yield excluded
        elif name in named:
            yield from read_found(name, built)
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
