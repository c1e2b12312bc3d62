"""Output of commands: the only module of the command line that writes to a stream."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TextIO

import click

from webhook.diagnostics import LINE
from webhook.policy.printable import printable
from webhook.report.paint import Paint, plain


def show(text: str) -> None:
    """Write a report, data or help to standard output. The caller has made the text safe to print."""
    click.echo(text, nl=False)


def tell(*lines: str) -> None:
    """Write lines to standard error. Each is sanitised, so text of users in it starts no line of its own.

    A standard error that is closed or full changes nothing else, in particular not the exit code.
    """
    with suppress(OSError):
        for line in lines:
            click.echo(printable(line, LINE), err=True)


def paint(stream: TextIO) -> Paint:
    """Return the Paint for a stream: no colour where it is not a terminal or NO_COLOR is set."""
    return _colour if stream.isatty() and "NO_COLOR" not in os.environ else plain


def _colour(text: str, colour: str) -> str:
    if colour in ("bold", "dim"):
        return click.style(text, **{colour: True})
    return click.style(text, fg=colour)
