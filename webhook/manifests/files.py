"""Content of files, and what prevents reading them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from webhook.diagnostics import Diagnostic

LARGEST = 64 * 1024 * 1024
"""Bytes of an input, or of a document where only that is held: far more than the largest object that etcd accepts."""


class Source(NamedTuple):
    """One input, or a section of a large one: the name of its file and its content.

    `named` is False for a file that was found in a folder. `first_line` is that of the content, `number` the number of
    documents before it. `is_part`: the file is a kustomization, or one merges it into objects.
    """

    file: str
    data: bytes
    named: bool = True
    first_line: int = 1
    number: int = 0
    is_part: bool = False


def read_file(path: str) -> bytes | Diagnostic:
    """Return the content of a file that was found rather than named. Only a regular file is read.

    To open a named pipe, or to read a device, might never end. The descriptor tells what was opened, since the path may
    lead elsewhere meanwhile.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return problem(path, NOT_REGULAR)
            # So a file of this size takes half as many system calls as a stream.
            data = os.read(descriptor, min(status.st_size, LARGEST) + 1) if status.st_size else b""
            if len(data) != status.st_size or not data:
                with open(descriptor, "rb", closefd=False) as stream:
                    data += stream.read(LARGEST + 1 - len(data))
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        return problem(path, reason_of(error))
    return data if len(data) <= LARGEST else problem(path, TOO_LARGE)


NOT_REGULAR = "not a regular file"
TOO_LARGE = f"larger than {LARGEST // 1024**2} MiB; split it, for example by namespace"


def whole(name: str, stream: BinaryIO) -> Iterator[Source | Diagnostic]:
    """Read a stream at once."""
    expected = _expected(stream)
    data = stream.read(expected + 1)
    if len(data) > expected:
        data += stream.read(LARGEST + 1 - len(data))
    yield bounded(name, data)


def bounded(name: str, data: bytes) -> Source | Diagnostic:
    """Return all of an input, unless it is too large."""
    return Source(name, data) if len(data) <= LARGEST else problem(name, TOO_LARGE)


def _expected(stream: BinaryIO) -> int:
    """Return the size of a file. To read as much as the limit allows would reserve that much memory for each file."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return LARGEST  # no file
    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    return min(size, LARGEST) or LARGEST


def problem(path: str, message: str) -> Diagnostic:
    """Return a diagnostic for a file as a whole."""
    return Diagnostic(shown(path), 0, 0, message)


def shown(path: str) -> str:
    """Return a name that can be encoded, whatever bytes the file system returns."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


UNKNOWN = "\ufffd"
"""What such a name has in place of bytes that are not UTF-8: no file, or another one, has this name."""


def reason_of(error: OSError | ValueError) -> str:
    """Return why a file cannot be read."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    reason = error.strerror if isinstance(error, OSError) else None
    return (reason or str(error)).lower()


def is_folder(path: str) -> bool:
    """Return whether a path leads to a folder."""
    return stat.S_ISDIR(mode_of(path))


def leaves(path: str, folder: str) -> bool:
    """Return whether a link leads out of a folder, or to what git keeps there: neither is part of what is looked at.

    A link that leads nowhere does not, if the system gives up because of too many links.
    """
    try:
        os.stat(path)  # noqa: PTH116 - as in `mode_of`
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False  # `realpath` would follow any number of links
    top = os.path.realpath(folder)
    target = os.path.realpath(path)
    below = target.removeprefix(top if top.endswith("/") else f"{top}/")
    return below == target or ".git" in below.split("/")


def mode_of(path: str) -> int:
    """Return the mode of what a path leads to; 0 where that fails. Reading it then reports the reason."""
    try:
        return os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return 0
