"""What is wrong with an input, and where: one diagnostic and one error, from the reader to the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, TypeVar

from webhook.policy.messages import printable
from webhook.policy.verdict import Path

LINE = 8192
"""Characters of a printed line: room for the longest path of Linux (4096), which programs parse, and a message."""

Locate: TypeAlias = Callable[[Path], tuple[int, int]]
"""The line and column of the value at a path, or of its nearest ancestor that exists; both count from 1.

For a path that KEY extends, they are those of the key instead of the value under it.
"""

KEY: Final = -(2**63)
"""A last step of paths that stands for a key itself. It is the index of no item."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem of an input. `file` names the file, `<stdin>`, or the option that gave the value.

    `line` and `column` count from 1; both are 0 where the problem concerns the input as a whole. The fields hold text
    of users unchanged. `str` returns `file:line:column: message` on one line that is safe to print. `errors` is the
    number of errors that it stands for, 0 for a message about errors that are counted already.
    """

    file: str
    line: int
    column: int
    message: str
    errors: int = 1

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return printable(f"{place}: {self.message}", LINE)


@dataclass(frozen=True, slots=True)
class Unread:
    """A file of a folder, or a folder, that is not read, and why. All fields may hold text of users.

    The name of a folder ends with a slash. `may_hide`: it may hold an object, and is left out because of a file of its
    author rather than of an option, so that `--fail-on unread` counts it. `instead` is the command that checks what is
    not read, and `why` says what else there is to say about the reason; both are empty where there is none.
    `names_gpu`: what stands in the folder names a GPU resource.
    """

    file: str
    reason: str
    may_hide: bool = False
    instead: str = ""
    names_gpu: bool = False
    why: str = ""


MOST_LISTED = 20
"""Errors of one file that are listed. The others are counted: a file may hold millions."""


def further(file: str, errors: int) -> Diagnostic:
    """Return the diagnostic for errors of a file that are counted but not listed."""
    return Diagnostic(file, 0, 0, f"and {errors:,} more {'error' if errors == 1 else 'errors'}", errors)


class OfFile(Protocol):
    """What belongs to a file."""

    @property
    def file(self) -> str:
        """The name of the file."""


Entry = TypeVar("Entry", bound=OfFile)


class Listing:
    """Passes entries on, with the first errors of each file; one diagnostic at the end of the file counts the others.

    Entries of a file that follow each other belong together.
    """

    def __init__(self) -> None:
        self._file = ""
        self._listed = self._further = 0
        self._has_note = False

    def add(self, entry: Entry) -> Iterable[Entry | Diagnostic]:
        """Return the count of the file before if it ends here, and the entry unless it is only counted."""
        counted = self.end() if entry.file != self._file else ()
        self._file = entry.file
        if isinstance(entry, Diagnostic):
            if entry.errors == 0:
                if self._has_note:
                    return counted
                self._has_note = True
            elif entry.errors == 1 and self._listed < MOST_LISTED:
                self._listed += 1
            else:
                self._further += entry.errors
                return counted
        return (*counted, entry)

    def refuse(self, file: str, located: Callable[[], Diagnostic]) -> Iterable[Diagnostic]:
        """Add an error of the file. It is located only if it is listed: that may take longer than all else."""
        if self._listed < MOST_LISTED or file != self._file:
            return self.add(located())
        self._further += 1
        return ()

    def end(self) -> tuple[Diagnostic, ...]:
        """Return the count of the errors of the last file that are not listed, if there are any."""
        counted = (further(self._file, self._further),) if self._further else ()
        self._listed = self._further = 0
        self._has_note = False
        return counted


def listed(entries: Iterable[Entry]) -> Iterator[Entry | Diagnostic]:
    """Yield entries with the first errors of each file, and one diagnostic that counts the others."""
    listing = Listing()
    for entry in entries:
        yield from listing.add(entry)
    yield from listing.end()


def tallied(counts: Iterable[tuple[str, int]]) -> str:
    """Return names with their counts, without those that nothing has."""
    return ", ".join(f"{count} {name}" for name, count in counts if count)


class InputError(Exception):
    """An input that cannot be used. `diagnostics` lists its problems in the order of their places, and counts many."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(listed(diagnostics))
        super().__init__("\n".join(map(str, self.diagnostics)))

    @classmethod
    def of(cls, file: str, message: str) -> InputError:
        """The error of one problem, which concerns an input as a whole."""
        return cls([Diagnostic(file, 0, 0, message)])


_KEY_LENGTH = 63
_is_plain = re.compile(f"[A-Za-z0-9_-]{{1,{_KEY_LENGTH}}}").fullmatch
_KEY = 110
"""Characters of a key that a path quotes."""


def dotted(path: Path) -> str:
    """Return a path as messages write it: `spec.containers[0].env`, `placement.mpsLabels["example.com/mps"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        # Almost all keys are identifiers, which are found faster than by an expression.
        elif (step.isidentifier() and step.isascii() and len(step) <= _KEY_LENGTH) or _is_plain(step):
            text += f".{step}"
        else:
            text += f'["{printable(step, _KEY)}"]'
    return text.removeprefix(".")
