"""What every format of `mutate` is: a writer that turns mutations into text, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from webhook.diagnostics import Diagnostic
from webhook.report.mutation import Mutation
from webhook.report.paint import Paint, plain


class Reader(Enum):
    """What reads the text, and what it might take text of users for."""

    TERMINAL = "terminal"
    STREAM = "stream"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a text goes: what reads it, the colours that it gets, and the folder that names of files start from."""

    reader: Reader = Reader.FILE
    paint: Paint = plain
    folder: str = "/"


class MutationWriter(Protocol):
    """Writes mutations in the order of the inputs."""

    def add(self, mutation: Mutation) -> Iterator[str | Diagnostic]:
        """Yield the text for the next mutation, which may come later, and a diagnostic for what cannot be written."""

    def end(self) -> Iterator[str | Diagnostic]:
        """Yield what remains."""
