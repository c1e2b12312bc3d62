"""What every format of `mutate` is: a writer that turns mutations into text, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from webhook.diagnostics import Diagnostic
from webhook.manifests import Manifest
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
