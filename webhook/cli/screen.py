"""What a command prints, and in which colours: the only place of the command line that writes to a stream."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TextIO

import click

from webhook.diagnostics import LINE
from webhook.policy.printable import printable
from webhook.report.as_text import Paint, plain


def show(text: str) -> None:
    """Write a report, data or help to standard output. The text is safe to print already."""
    click.echo(text, nl=False)


def tell(*lines: str) -> None:
    """Write lines to standard error, each through the sanitiser: a line stays one, whatever names it quotes.

    A standard error that is closed or full changes nothing else, above all not the exit code.
    """
    with suppress(OSError):
        for line in lines:
            click.echo(printable(line, LINE), err=True)


def paint(stream: TextIO) -> Paint:
    """What colours text for a stream: nothing when it is no terminal or NO_COLOR is set."""
    return _colour if stream.isatty() and "NO_COLOR" not in os.environ else plain


def _colour(text: str, colour: str) -> str:
    return click.style(text, dim=True) if colour == "dim" else click.style(text, fg=colour)
