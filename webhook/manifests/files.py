"""Content of files, and what prevents reading them."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from webhook.diagnostics import Diagnostic

LARGEST = 64 * 1024 * 1024
"""Bytes of an input: far more than the largest object that etcd accepts, or any bundle of objects under review."""


def read_file(path: str) -> bytes | Diagnostic:
    """Return the content of a file or of a named pipe."""
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - a Path costs more than all the rest
            status = os.fstat(stream.fileno())
            # To read as much as the limit allows would reserve that much memory for each file.
            expected = status.st_size if stat.S_ISREG(status.st_mode) else 0
            return read_stream(shown(path), stream, min(expected, LARGEST) or LARGEST)
    except (OSError, ValueError) as error:
        return problem(path, reason_of(error))


def read_stream(name: str, stream: BinaryIO, expected: int = LARGEST) -> bytes | Diagnostic:
    """Return the content of a stream of about the expected bytes."""
    try:
        data = stream.read(expected + 1)
        if len(data) > expected:
            data += stream.read(LARGEST + 1 - len(data))
    except (OSError, ValueError) as error:
        return Diagnostic(name, 0, 0, reason_of(error))
    if len(data) > LARGEST:
        return Diagnostic(name, 0, 0, f"larger than {LARGEST // 1024**2} MiB")
    return data


def problem(path: str, message: str) -> Diagnostic:
    """Return a diagnostic for a file as a whole."""
    return Diagnostic(shown(path), 0, 0, message)


def shown(path: str) -> str:
    """Return a name that can be encoded, whatever bytes the file system returns."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def reason_of(error: OSError | ValueError) -> str:
    """Return why a file cannot be read."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    reason = error.strerror if isinstance(error, OSError) else None
    return (reason or str(error)).lower()
