"""An object with its edits, and the interface of the formats of `mutate`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from webhook.diagnostics import Diagnostic
from webhook.manifests import Manifest
from webhook.policy.messages import COMMAND_ANYWHERE
from webhook.report.lines import Paint, plain
from webhook.report.model import Subject


class Medium(Enum):
    """What reads the text, and what it might take text of users for."""

    TERMINAL = "terminal"
    STREAM = "stream"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a text goes: its medium, the colours that it gets, and the folder that names of files start from."""

    medium: Medium = Medium.FILE
    paint: Paint = plain
    folder: str = "/"


class MutationWriter(Protocol):
    """Writes mutations in the order of the inputs."""

    def add(self, mutation: Mutation) -> Iterator[str | Diagnostic]:
        """Yield the text for the next mutation, which may come later, and a diagnostic for what cannot be written."""

    def end(self) -> Iterator[str | Diagnostic]:
        """Yield what remains."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """An object of a file, the JSON Patch operations for it, and the object that results.

    `edited` computes the result on each call. It may take far more memory than the object of the manifest, in which
    YAML aliases share their target, so formats hold one result at a time.
    """

    manifest: Manifest
    subject: Subject
    operations: Sequence[dict[str, Any]]
    edited: Callable[[], object]


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
            yield from self.file(pending[0].manifest.within.raw, pending)

    @abstractmethod
    def file(self, data: bytes, mutations: Sequence[Mutation]) -> Iterator[str | Diagnostic]:
        """Yield the text for the objects of a file, at least one, whose bytes are `data`."""


# A command counts after a carriage return as well, which is a line break to the runner of GitHub Actions.
_COMMAND = re.compile(rf"{COMMAND_ANYWHERE.pattern}|(?:^|\r)[^\S\r\n]*::", re.ASCII | re.MULTILINE)


def is_command(text: str) -> bool:
    """Return whether a CI system would read a line of the text as a command."""
    return _COMMAND.search(text) is not None


def is_printable(text: str) -> bool:
    """Return whether a terminal shows the characters of a line, and a byte order mark at its start, as they are."""
    return text.rstrip("\r\n").replace("\t", "").removeprefix("\ufeff").isprintable()
