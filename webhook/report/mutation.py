"""An object with its edits, and the interface of the formats of `mutate`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

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
    """Where a text goes: its medium, and the colours that it gets."""

    medium: Medium = Medium.FILE
    paint: Paint = plain


@dataclass(frozen=True, slots=True)
class Mutation:
    """An object of a file, and the JSON Patch operations for it.

    `patch` applies them to a value that holds the object at a JSON pointer, and may change the value.
    """

    manifest: Manifest
    subject: Subject
    operations: Sequence[dict[str, Any]]
    patch: Callable[[Any, str], Any]

    def edited(self) -> Any:
        """Return the object with its edits.

        It may take far more memory than the object of the manifest, in which YAML aliases share their target, so
        formats hold one result at a time.
        """
        return self.patch(self.manifest.unshared(), "")


class EditedFile(NamedTuple):
    """Objects of a file, at least one."""

    mutations: Sequence[Mutation]

    @property
    def name(self) -> str:
        return self.mutations[0].manifest.file

    @property
    def data(self) -> bytes:
        return self.mutations[0].manifest.within.raw


class MutationWriter(ABC):
    """Writes the objects of one file after the other."""

    @abstractmethod
    def file(self, edited: EditedFile) -> Iterator[str | Diagnostic]:
        """Yield the text for the objects of a file, and a diagnostic for what cannot be written."""

    def end(self) -> Iterator[str | Diagnostic]:
        """Yield what remains."""
        return iter(())


# A command counts after a carriage return as well, which is a line break to the runner of GitHub Actions.
_COMMAND = re.compile(rf"{COMMAND_ANYWHERE.pattern}|(?:^|\r)[^\S\r\n]*::", re.ASCII | re.MULTILINE)


def is_command(text: str) -> bool:
    """Return whether a CI system would read a line of the text as a command."""
    return _COMMAND.search(text) is not None


def is_printable(text: str) -> bool:
    """Return whether a terminal shows the characters of a line, and a byte order mark at its start, as they are."""
    return text.rstrip("\r\n").replace("\t", "").removeprefix("\ufeff").isprintable()
