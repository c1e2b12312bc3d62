"""Edits of files in place: each file gets its new content as a whole or stays as it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from webhook.cli.outputs import LINKED, exit_on_signals
from webhook.diagnostics import Diagnostic, InputError
from webhook.manifests import STDIN, is_pipe
from webhook.manifests.files import UNKNOWN, read_file, reason_of
from webhook.report.file_writer import FileWriter
from webhook.report.lines import counted
from webhook.report.mutation_writer import Mutation
from webhook.report.rewrite import applied, rewrite


def require_files(option: str, names: Sequence[str]) -> None:
    """Check that no input is standard input or a pipe, which nothing can edit. Raises UsageError."""
    for name in names:
        if name in ("-", STDIN) or is_pipe(name):
            what = "standard input" if name in ("-", STDIN) else "a pipe"
            raise click.UsageError(f"{option} edits files, and cannot edit {what}; name files and folders")


def editable(name: str) -> bytes | Diagnostic:
    """Return the content of a file to edit, or why it cannot be edited."""
    return _unknown(name) or read_file(name)


def _unknown(name: str) -> Diagnostic | None:
    problem = "its path has U+FFFD, which stands for bytes that are not UTF-8; rename the file or folder"
    return Diagnostic(name, 0, 0, f"cannot be written: {problem}") if UNKNOWN in name else None


def replace_content(name: str, old: bytes, new: bytes) -> None:
    """Replace the content of a file that holds `old`, and keep its mode and, where possible, its owner.

    The new content goes to a file beside it, which is renamed: no error, interrupt, SIGTERM, SIGHUP or full disk leaves
    half a file. Another hard link of the file keeps the old content. Raises InputError.
    """
    if unknown := _unknown(name):
        raise InputError([unknown])
    try:
        _refuse_links(name)
        with ExitStack() as leftovers:
            _replace(Path(name), old, new, leftovers)
    except (OSError, ValueError) as error:
        raise InputError([Diagnostic(name, 0, 0, f"cannot be written: {reason_of(error)}")]) from None


def _refuse_links(name: str) -> None:
    """Raise ValueError for a link on a path, which may lead out of the files that the user means to edit.

    A repository may hold such a link, and a pattern of the shell reaches what is behind it. Links count below the
    highest folder of the path that is the working directory or holds `.git`: that folder may be a link, and so may
    those above it, which its content cannot change. Without such a folder, links count everywhere but in `/`, where
    the system has its own, such as `/tmp` on macOS.
    """
    path = Path.cwd() / name
    steps = [*reversed(path.parents), path]
    here = Path().stat()
    top = next((index for index, folder in enumerate(steps[:-1]) if _is_top(folder, here)), 1)
    if any(one.is_symlink() for one in steps[top + 1 :]):
        raise ValueError(LINKED)


def _is_top(folder: Path, here: os.stat_result) -> bool:
    """Return whether a folder is the working directory, whose status is `here`, or the root of a repository."""
    return os.path.samestat(folder.stat(), here) or os.path.lexists(folder / ".git")


def _replace(place: Path, old: bytes, new: bytes, leftovers: ExitStack) -> None:
    from secrets import token_hex  # only for a file that changes: it imports hashlib

    before = place.lstat()
    if not stat.S_ISREG(before.st_mode):
        raise ValueError("not a regular file")
    if place.read_bytes() != old:
        raise ValueError(_CHANGED)
    exit_on_signals(leftovers)
    beside = place.with_name(f".{token_hex(8)}.tmp")
    leftovers.callback(beside.unlink, missing_ok=True)
    # No other user may read the content before the file has its mode.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, stat.S_IRUSR | stat.S_IWUSR)
    with os.fdopen(descriptor, "wb") as stream:
        _keep_owner(descriptor, before)
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
        stream.write(new)
        stream.flush()
        os.fsync(descriptor)
    after = place.lstat()
    if (after.st_dev, after.st_ino, after.st_mtime_ns) != (before.st_dev, before.st_ino, before.st_mtime_ns):
        raise ValueError(_CHANGED)
    beside.replace(place)


_CHANGED = "it has changed since it was read; run the command again"


def _keep_owner(descriptor: int, before: os.stat_result) -> None:
    """Give a file the owner and the group of another one, as far as the user may."""
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) == (before.st_uid, before.st_gid):
        return
    try:
        os.fchown(descriptor, before.st_uid, before.st_gid)
    except OSError:
        with suppress(OSError):
            os.fchown(descriptor, -1, before.st_gid)


class InPlace(FileWriter):
    """Writes the edits of each file into the file. A file that has several names is written once."""

    def __init__(self) -> None:
        super().__init__()
        self._links: dict[str, tuple[Diagnostic, ...]] = {}
        self._written: set[str] = set()
        self._failed: set[str] = set()

    def file(self, file: str, data: bytes, mutations: Sequence[Mutation]) -> Iterator[str | Diagnostic]:
        edited = [one for one in mutations if one.operations]
        place = os.path.realpath(file)
        if not edited or place in self._written:
            return
        rewritten = rewrite(data, edited)
        for one in rewritten.failures:
            self._failed.add(place)
            yield one.diagnostic("not edited")
        if not rewritten.splices:
            return
        try:
            replace_content(file, data, applied(data, rewritten.splices))
            self._written.add(place)
        except InputError as error:
            if Path(file).is_symlink():
                self._links.setdefault(place, error.diagnostics)
                return
            self._failed.add(place)
            yield from error.diagnostics

    def end(self) -> Iterator[str | Diagnostic]:
        """Write the last file, and report the links whose file the run has not written under its own name."""
        yield from super().end()
        for place, diagnostics in self._links.items():
            if place not in self._written:
                self._failed.add(place)
                yield from diagnostics

    def summary(self, files: set[str]) -> str:
        """Return how many of the files with objects were written, and how many keep their text."""
        places = {os.path.realpath(file) for file in files}
        failed = self._failed - self._written
        unchanged = len(places) - len(self._written) - len(failed)
        left = f", {len(failed)} not written" if failed else ""
        return f"{counted(len(self._written), 'file')} written, {unchanged} unchanged{left}"
