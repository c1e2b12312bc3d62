"""The progress of a run, on a terminal."""

from __future__ import annotations

import math
import os
import sys
import time

from webhook.cli.screen import draw
from webhook.report.counted import counted
from webhook.report.model import Entry, Result

_UNSEEN = 1.0
"""Seconds for which a run shows no progress."""

_BETWEEN = 0.1
"""Seconds between two changes of the progress."""


class Progress:
    """A line on standard error that counts the files and objects of a long run, until the first output or its end."""

    __slots__ = ("_due", "_file", "_files", "_is_shown", "_objects")

    def __init__(self, due: float) -> None:
        self._due = due
        self._is_shown = False
        self._file: str | None = None
        self._files = 0
        self._objects = 0

    def count(self, entry: Entry) -> None:
        """Count an entry, and show the counts from time to time."""
        if entry.file != self._file:
            self._file = entry.file
            self._files += 1
        self._objects += isinstance(entry, Result)
        if (now := time.monotonic()) >= self._due:
            self._due = now + _BETWEEN
            self._is_shown = True
            draw(f"checked {counted(self._objects, 'object')} in {counted(self._files, 'file')}")

    def end(self) -> None:
        """Remove the line. It does not return, since the report shows the progress from here on."""
        self._due = math.inf
        if self._is_shown:
            self._is_shown = False
            draw("")


def progress() -> Progress:
    """Return the progress of a run; it stays hidden in a CI system, in a file and on a terminal without cursor."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    is_shown = is_terminal and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
    return Progress(time.monotonic() + _UNSEEN if is_shown else math.inf)
