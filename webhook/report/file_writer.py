"""What formats that keep the text of files have in common: a file at a time, and lines that are safe to print."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from webhook.diagnostics import Diagnostic
from webhook.policy.messages import COMMAND_ANYWHERE
from webhook.report.mutation_writer import Mutation


class FileWriter(ABC):
    """Writes the objects of a file together, after the last one."""

    def __init__(self) -> None:
        self._pending: list[Mutation] = []

    def add(self, mutation: Mutation) -> Iterator[str | Diagnostic]:
        if self._pending and mutation.manifest.within.raw is not self._pending[0].manifest.within.raw:
            yield from self._flush()
        self._pending.append(mutation)

    def end(self) -> Iterator[str | Diagnostic]:
        return self._flush()

    def _flush(self) -> Iterator[str | Diagnostic]:
        pending, self._pending = self._pending, []
        if pending:
            yield from self.file(pending[0].manifest.file, pending[0].manifest.within.raw, pending)

    @abstractmethod
    def file(self, file: str, data: bytes, mutations: Sequence[Mutation]) -> Iterator[str | Diagnostic]:
        """Yield the text for the objects of a file, at least one, whose bytes are `data`."""


# A command counts after a carriage return as well, which is a line break to the runner of GitHub Actions.
_COMMAND = re.compile(rf"{COMMAND_ANYWHERE.pattern}|(?:^|\r)[^\S\r\n]*::", re.ASCII | re.MULTILINE)


def is_command(text: str) -> bool:
    """Return whether a CI system would read a line of the text as a command."""
    return _COMMAND.search(text) is not None


def is_printable(text: str) -> bool:
    """Return whether a terminal shows the characters of a line, and a byte order mark at its start, as they are."""
    return text.rstrip("\r\n").replace("\t", "").removeprefix("\ufeff").isprintable()
