"""Output of commands: the only module of the command line that writes to a stream, besides click's help and version."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TextIO

import click

from webhook.diagnostics import LINE, Diagnostic
from webhook.policy.messages import printable
from webhook.report.lines import Paint, plain

_WIDTH = 80
"""Columns of a terminal that does not report its size."""

_DIGITS = 6
_CLEAR = "\r\x1b[K"


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
    """Return whether output has colours.

    NO_COLOR precedes FORCE_COLOR and CLICOLOR_FORCE, and these precede CLICOLOR and TERM. An empty variable counts as
    absent (no-color.org, force-color.org, bixense.com/clicolors).
    """
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR") or environment.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return is_terminal and environment.get("CLICOLOR") != "0" and environment.get("TERM") != "dumb"


def width() -> int:
    """Return the columns of the terminal: those of COLUMNS if it is set, or 80 if they are unknown."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and len(given) < _DIGITS and int(given):
        return int(given)
    return _columns(sys.stdout)


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


def _colour(text: str, colour: str) -> str:
    if colour in ("bold", "dim"):
        return click.style(text, **{colour: True})
    return click.style(text, fg=colour)


def draw(text: str) -> None:
    """Replace the line at the cursor on standard error with a text, cut to the width of the terminal."""
    with suppress(OSError):
        click.echo(f"{_CLEAR}{text[: _columns(sys.stderr) - 1]}", err=True, nl=False, color=True)
