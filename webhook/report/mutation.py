"""The interface of the formats of `mutate`: where a text goes, and the writer of the objects of files."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from webhook.diagnostics import Diagnostic
from webhook.policy.messages import COMMAND_ANYWHERE
from webhook.report.lines import Paint, plain
from webhook.report.rewrite import EditedFile


class Medium(Enum):
    """What reads the text, and what it might take text of users for."""

    TERMINAL = "terminal"
    STREAM = "stream"
    FILE = "file"


class Destination(NamedTuple):
    """Where a text goes: its medium, and the colours that it gets."""

    medium: Medium = Medium.FILE
    paint: Paint = plain


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
