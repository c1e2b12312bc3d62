"""Colour, where the output is a terminal that wants it."""

from __future__ import annotations

import os
from typing import TextIO

import click

from webhook.report.as_text import Paint, plain


def paint(stream: TextIO) -> Paint:
    """What colours text for a stream: nothing when it is no terminal or NO_COLOR is set."""
    return _colour if stream.isatty() and "NO_COLOR" not in os.environ else plain


def _colour(text: str, colour: str) -> str:
    return click.style(text, dim=True) if colour == "dim" else click.style(text, fg=colour)
