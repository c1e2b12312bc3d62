"""The bytes of every input that the command line names."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests.sections import LARGEST, TooLargeError, sections

STDIN = "<stdin>"


class Source(NamedTuple):
    """One input, or a section of a large one: the name of its file and its content.

    `named` is False for a file that was found in a folder. `first_line` is that of the content, `number` the number of
    documents before it.
    """

    file: str
    data: bytes
    named: bool = True
    first_line: int = 1
    number: int = 0

    @property
    def section(self) -> tuple[str, bytes, int, int]:
        """What `reader.read` takes."""
        return self.file, self.data, self.first_line, self.number


_EXTENSIONS = (".json", ".yaml", ".yml")


def sources(paths: Sequence[str], recursive: bool, stdin: BinaryIO) -> Iterator[Source | Unread | Diagnostic]:
    """Yield each input in the order given: files, manifests of folders, `-` for standard input.

    Of a folder only files ending in .json, .yaml or .yml are read, sorted, with the folders below it if `recursive`.
    """
    for path in paths:
        if path not in _NO_PATH and _is_folder(Path(path)):
            yield from _manifests(Path(path), recursive)
        elif path == "-":
            yield from _sections(STDIN, stdin)
        elif path and not _is_folder(Path(path)):
            yield from _file(Path(path))
        else:
            yield source(path, stdin)


def source(path: str, stdin: BinaryIO) -> Source | Diagnostic:
    """Return one input: a file, or standard input for `-`."""
    if path == "-":
        return _content(STDIN, stdin)
    if not path:
        # pathlib would take it for the current folder; it usually stands for a variable that is not set.
        return Diagnostic('""', 0, 0, "the name is empty; name a file")
    if _is_folder(Path(path)):
        return _problem(Path(path), "is a folder; name a file")
    try:
        with Path(path).open("rb") as stream:
            return _content(_shown(Path(path)), stream)
    except (OSError, ValueError) as error:
        return _problem(Path(path), _reason(error))


_NO_PATH = ("-", "")


def _manifests(path: Path, recursive: bool) -> Iterator[Source | Diagnostic]:
    found = False
    for file in _folder(path, recursive):
        found = True
        yield file
    if not found:
        deeper = "" if recursive else "; -R reads the folders below as well"
        yield _problem(path, f"no .json, .yaml or .yml file in this folder{deeper}")


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    """Return the mode of what a path leads to; 0 where that fails. Reading the file then reports the reason."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _folder(top: Path, recursive: bool) -> Iterator[Source | Diagnostic]:
    """Read the manifests of a folder. Links to folders are not followed, since they may form a cycle."""
    pending = [top]
    while pending:
        path = pending.pop()
        if path is top or (recursive and _is_folder(path) and not path.is_symlink()):
            try:
                pending += sorted(path.iterdir(), reverse=True)
            except OSError as error:
                yield _problem(path, _reason(error))
        elif path.name.endswith(_EXTENSIONS) and not _is_folder(path):
            # Reading a named pipe would never end.
            mode = _mode(path)
            if mode and not stat.S_ISREG(mode):
                yield _problem(path, "not a regular file")
            else:
                yield from _file(path, named=False)


def _file(path: Path, *, named: bool = True) -> Iterator[Source | Diagnostic]:
    try:
        with path.open("rb") as stream:
            yield from _sections(_shown(path), stream, named=named)
    except (OSError, ValueError) as error:
        yield _problem(path, _reason(error))


def _sections(name: str, stream: BinaryIO, *, named: bool = True) -> Iterator[Source | Diagnostic]:
    """Yield the sections of an input, each a part of it that is read on its own."""
    try:
        for section in sections(stream):
            yield Source(name, section.data, named, section.first_line, section.number)
    except TooLargeError as error:
        what = "a document larger" if error.line else "larger"
        yield Diagnostic(name, error.line, min(error.line, 1), f"{what} than {LARGEST // 1024**2} MiB")
    except (OSError, ValueError) as error:
        yield Diagnostic(name, 0, 0, _reason(error))


def _content(name: str, stream: BinaryIO) -> Source | Diagnostic:
    try:
        data = stream.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        return Diagnostic(name, 0, 0, _reason(error))
    if len(data) > LARGEST:
        return Diagnostic(name, 0, 0, f"larger than {LARGEST // 1024**2} MiB")
    return Source(name, data)


def _problem(path: Path, message: str) -> Diagnostic:
    return Diagnostic(_shown(path), 0, 0, message)


def _shown(path: Path) -> str:
    """Return a name that can be encoded, whatever bytes the file system returns."""
    return os.fsencode(path).decode("utf-8", "replace")


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    reason = error.strerror if isinstance(error, OSError) else None
    return (reason or str(error)).lower()
