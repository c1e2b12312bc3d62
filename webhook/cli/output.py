"""What a command writes: lines on its streams, and files as a whole or not at all.

Besides click's help and version, no other module of the command line writes to a stream.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TextIO, TypeAlias

import click

from webhook.diagnostics import LINE, Diagnostic, InputError
from webhook.policy.messages import printable
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import Paint, plain


def show(text: str) -> None:
    """Write a report, data or help to standard output. The caller has made the text safe to print, and coloured it."""
    # click would remove colours that FORCE_COLOR adds to a pipe, and escape sequences in the lines of a diff.
    click.echo(text, nl=False, color=True)


def tell(*lines: str) -> None:
    """Write lines to standard error. Each is sanitised, so text of users in it starts no line of its own.

    A standard error that is closed or full changes nothing else, in particular not the exit code.
    """
    try:
        for line in lines:
            click.echo(printable(line, LINE), err=True)
    except OSError:
        discard(sys.stderr)


def notify(notice: Diagnostic) -> None:
    """Write a notice about an input to standard error."""
    tell(str(notice))


def discard(stream: TextIO) -> None:
    """Discard what a stream has not written. Otherwise the interpreter tries again at exit, and ends with 120."""
    with suppress(OSError):  # a stream without a descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def paint(stream: TextIO) -> Paint:
    """Return the Paint for a stream: with colours on a terminal, unless the environment decides otherwise."""
    return _colour if is_coloured(stream.isatty(), os.environ) else plain


def is_coloured(is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Return whether output has colours. NO_COLOR precedes FORCE_COLOR, and this TERM; an empty variable is absent."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal and environment.get("TERM") != "dumb"


def width() -> int:
    """Return the columns of the terminal: those of COLUMNS if it is set, or 80 if they are unknown."""
    from shutil import get_terminal_size  # output that no terminal shows needs no width

    return get_terminal_size().columns


def _colour(text: str, colour: str) -> str:
    if colour in ("bold", "dim"):
        return click.style(text, **{colour: True})
    return click.style(text, fg=colour)


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
    here = Path.cwd()
    for name in names:
        with _reported(name):
            path = here / name
            below = [folder for folder in path.parents if folder.is_relative_to(here)]
            if any(one.is_symlink() for one in (path, *below)) and not name.startswith(_STREAMS):
                raise ValueError(LINKED)
    with _destinations(names) as writes:
        yield writes


_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
"""Where the system keeps links to open files."""


LINKED = "its path has a link, which is not followed; name the place that the link leads to"


@contextmanager
def _destinations(names: Sequence[str]) -> Iterator[list[Write]]:
    with ExitStack() as leftovers:
        opened = [_opened(name, leftovers) for name in names]
        yield [destination.write for destination in opened]
        for destination in opened:
            destination.settle()
        for destination in opened:
            destination.complete()


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
            return _Destination(_reported(name)(stream.write), _reported(name)(stream.flush), lambda: None)
        return _file(name, mode, leftovers)


def _standard_output(leftovers: ExitStack) -> _Destination:
    # Text for people needs no spool, and `tempfile` imports eleven modules.
    from tempfile import SpooledTemporaryFile

    spool = SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8", newline="")  # noqa: SIM115 - closed below
    leftovers.enter_context(spool)

    def complete() -> None:
        for text in iter(lambda: spool.read(_IN_MEMORY), ""):
            show(text)

    name = "temporary file for standard output"
    return _Destination(_reported(name)(spool.write), _reported(name)(lambda: spool.seek(0)), complete)


def _file(name: str, mode: int | None, leftovers: ExitStack) -> _Destination:
    place = Path(name).resolve()
    new = beside(place, leftovers)
    stream = new.open("x", encoding="utf-8")
    leftovers.callback(_close, stream)
    if mode is not None:
        new.chmod(stat.S_IMODE(mode))

    def settle() -> None:
        stream.flush()
        os.fsync(stream.fileno())

    return _Destination(
        _reported(name)(stream.write), _reported(name)(settle), _reported(name)(lambda: new.replace(place))
    )


def beside(place: Path, leftovers: ExitStack) -> Path:
    """Return the name of a new file beside one, which `leftovers` removes unless it is renamed.

    Until then SIGTERM and SIGHUP end the process by an exit, which removes it, too. A signal that is ignored, as SIGHUP
    is under `nohup`, stays ignored.
    """
    # Only output to files needs these, and `secrets` imports hashlib.
    import signal
    from secrets import token_hex

    for number, code in ((signal.SIGTERM, ExitCode.TERMINATED), (signal.SIGHUP, ExitCode.HUNG_UP)):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, partial(_exit, code))
            leftovers.callback(signal.signal, number, signal.SIG_DFL)
    new = place.with_name(f".{token_hex(8)}.tmp")
    leftovers.callback(new.unlink, missing_ok=True)
    return new


def _exit(code: ExitCode, _signal: int, _frame: object) -> None:
    sys.exit(code)


def _close(stream: TextIO) -> None:
    """Close a file. `settle` has reported what cannot be written, which closing would try again."""
    with suppress(OSError):
        stream.close()


@contextmanager
def _reported(name: str) -> Iterator[None]:
    """Raise what goes wrong with a file as InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError.of(name, "its folder does not exist; create it first") from None
    except (OSError, ValueError) as error:
        from webhook.manifests.files import reason_of  # only for what is wrong

        raise InputError.of(name or '""', f"cannot be written: {reason_of(error)}") from None
