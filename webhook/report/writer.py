"""What every format of `check` is: a writer that turns entries into text, one at a time, and ends with the summary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from webhook.report.model import Entry
from webhook.report.tally import Tally


class Writer(Protocol):
    """Writes one report. It keeps no more than a bounded part of what it has written, apart from errors."""

    def add(self, entry: Entry) -> str:
        """Return the text for the next entry; empty if there is none."""

    def end(self, tally: Tally) -> str:
        """Return the end of the report."""


def written(writer: Writer, entries: Iterable[Entry]) -> str:
    """Return the report about entries."""
    tally = Tally()
    pieces = []
    for entry in entries:
        tally.add(entry)
        pieces.append(writer.add(entry))
    return "".join([*pieces, writer.end(tally)])
