"""Files that a command writes: each as a whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from webhook.cli.screen import show
from webhook.diagnostics import Diagnostic, InputError

STDOUT = "-"
"""The name that stands for standard output."""


def write_files(contents: Mapping[str, str]) -> None:
    """Write a text to each file; `-` is standard output. Raises InputError if a file cannot be written.

    Each text is first written beside its file, and all are renamed at the end: neither an interrupt nor a full disk
    leaves half a file. What is not a regular file, such as /dev/stdout or a named pipe, gets its text directly.
    """
    with ExitStack() as leftovers:
        renames: list[tuple[str, Path, Path]] = []
        for name, text in contents.items():
            if name != STDOUT:
                with _reported(name):
                    renames += _write(name, text, leftovers)
        for name, new, place in renames:
            with _reported(name):
                new.replace(place)
    if STDOUT in contents:
        show(contents[STDOUT])


def _write(name: str, text: str, leftovers: ExitStack) -> Iterator[tuple[str, Path, Path]]:
    """Write a text, and yield the rename that completes it, if it needs one. `leftovers` removes what is not renamed.

    Raises OSError and ValueError.
    """
    if not name:
        raise ValueError("the name is empty; name a file")
    named = Path(name)
    mode = named.stat().st_mode if named.exists() else None
    if mode is not None and stat.S_ISDIR(mode):
        raise ValueError("is a folder; name a file")
    if mode is not None and not stat.S_ISREG(mode):
        named.write_text(text, encoding="utf-8")
        return
    place = named.resolve()  # a link stays: the file that it leads to is replaced
    new = place.with_name(f".{secrets.token_hex(8)}.tmp")
    leftovers.callback(new.unlink, missing_ok=True)
    with new.open("x", encoding="utf-8") as stream:
        if mode is not None:
            new.chmod(stat.S_IMODE(mode))
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    yield name, new, place


@contextmanager
def _reported(name: str) -> Iterator[None]:
    """Raise what goes wrong with a file as InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError([Diagnostic(name, 0, 0, "its folder does not exist; create it first")]) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        problem = (reason or str(error)).lower()
        raise InputError([Diagnostic(name or '""', 0, 0, f"cannot be written: {problem}")]) from None
