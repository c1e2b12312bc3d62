"""What a command writes: each file, and data on standard output, as a whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, ParamSpec, TextIO, TypeAlias

from webhook.cli.screen import show
from webhook.diagnostics import Diagnostic, InputError
from webhook.report.exit_codes import ExitCode

P = ParamSpec("P")

STDOUT = "-"
"""The name that stands for standard output."""

Write: TypeAlias = Callable[[str], object]
"""Writes a piece of text to a destination. Raises InputError."""


class _Destination(NamedTuple):
    """How to write to a destination. `settle` makes sure that all text is there, `complete` makes it visible."""

    write: Write
    settle: Callable[[], object]
    complete: Callable[[], object]


_IN_MEMORY = 1024 * 1024
"""Characters of standard output that are held in memory; longer output waits in a temporary file."""


def write_files(contents: Mapping[str, str]) -> None:
    """Write a text to each file; `-` is standard output. A link stays: the file that it leads to is replaced.

    Raises InputError if a file cannot be written.
    """
    with _destinations(list(contents)) as writes:
        for write, text in zip(writes, contents.values(), strict=True):
            write(text)


@contextmanager
def destinations(names: Sequence[str]) -> Iterator[list[Write]]:
    """Yield a function for each name of a report that writes to this file; `-` is standard output.

    Text first goes beside its file, or into a temporary file for standard output. At the end all files are renamed:
    no interrupt, SIGTERM, SIGHUP or full disk leaves half a file. What is not a regular file, such as /dev/stdout or a
    named pipe, gets its text directly. No link is followed, since the change under check may bring it. Raises
    InputError if a file cannot be written.
    """
    for name in names:
        with _reported(name):
            refuse_link(name)
    with _destinations(names) as writes:
        yield writes


_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
"""Where the system keeps links to open files."""


def refuse_link(name: str) -> None:
    """Raise ValueError for a link at the end of a path, or on its part below the working directory."""
    here = Path.cwd()
    path = here / name
    below = [folder for folder in path.parents if folder.is_relative_to(here)]
    if any(one.is_symlink() for one in (path, *below)) and not name.startswith(_STREAMS):
        raise ValueError(LINKED)


LINKED = "its path has a link, which is not followed; name the place that the link leads to"


@contextmanager
def _destinations(names: Sequence[str]) -> Iterator[list[Write]]:
    with ExitStack() as leftovers:
        opened = [_opened(name, leftovers) for name in names]
        yield [one.write for one in opened]
        for one in opened:
            one.settle()
        for one in opened:
            one.complete()


def _opened(name: str, leftovers: ExitStack) -> _Destination:
    """Return a destination. `leftovers` removes what is not completed."""
    if name == STDOUT:
        return _standard_output(leftovers)
    with _reported(name):
        if not name:
            raise ValueError("the name is empty; name a file")
        named = Path(name)
        mode = named.stat().st_mode if named.exists() else None
        if mode is not None and stat.S_ISDIR(mode):
            raise ValueError("is a folder; name a file")
        if mode is not None and not stat.S_ISREG(mode):
            stream = named.open("w", encoding="utf-8")
            leftovers.callback(_close, stream)
            return _Destination(_reporting(name, stream.write), _reporting(name, stream.flush), lambda: None)
        return _beside(name, mode, leftovers)


def _standard_output(leftovers: ExitStack) -> _Destination:
    # Text for people needs no spool, and `tempfile` imports eleven modules.
    from tempfile import SpooledTemporaryFile

    spool = SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8", newline="")  # noqa: SIM115 - closed below
    leftovers.enter_context(spool)

    def complete() -> None:
        for text in iter(lambda: spool.read(_IN_MEMORY), ""):
            show(text)

    held = "temporary file for standard output"
    return _Destination(_reporting(held, spool.write), _reporting(held, lambda: spool.seek(0)), complete)


def _beside(name: str, mode: int | None, leftovers: ExitStack) -> _Destination:
    # Only output to files needs it, and it imports hashlib.
    from secrets import token_hex

    exit_on_signals(leftovers)
    place = Path(name).resolve()
    new = place.with_name(f".{token_hex(8)}.tmp")
    leftovers.callback(new.unlink, missing_ok=True)
    stream = new.open("x", encoding="utf-8")
    leftovers.callback(_close, stream)
    if mode is not None:
        new.chmod(stat.S_IMODE(mode))

    def settle() -> None:
        stream.flush()
        os.fsync(stream.fileno())

    return _Destination(
        _reporting(name, stream.write), _reporting(name, settle), _reporting(name, lambda: new.replace(place))
    )


def exit_on_signals(leftovers: ExitStack) -> None:
    """Let SIGTERM and SIGHUP end the process by an exit, which removes the files of `leftovers`, until then.

    A signal that is ignored, as SIGHUP is under `nohup`, stays ignored.
    """
    import signal  # only output to files needs it

    for number, code in ((signal.SIGTERM, ExitCode.TERMINATED), (signal.SIGHUP, ExitCode.HUNG_UP)):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, partial(_exit, code))
            leftovers.callback(signal.signal, number, signal.SIG_DFL)


def _exit(code: ExitCode, _signal: int, _frame: object) -> None:
    sys.exit(code)


def _close(stream: TextIO) -> None:
    """Close a file. `settle` has reported what cannot be written, which closing would try again."""
    with suppress(OSError):
        stream.close()


def _reporting(name: str, action: Callable[P, object]) -> Callable[P, object]:
    """Return the action, which raises InputError for what goes wrong with the file."""

    def reported(*args: P.args, **kwargs: P.kwargs) -> object:
        with _reported(name):
            return action(*args, **kwargs)

    return reported


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
