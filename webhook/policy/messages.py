"""Text for people: short, and safe to print.

Untrusted text (names, paths, options and messages of libraries) passes through `printable` before it reaches a message,
a log or a terminal: short, on one line, and never a command for a terminal or a CI system.

Commands are words that a shell reads back as they are, with names that the API server accepts. A tenant chooses names
that nothing validates, such as those of owner references, volumes and Events. A copied command runs with the rights of
its reader, so a text that is no legal name is shown as data, and never in a command.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

LIMIT = 256
"""Characters of an untrusted text that are printed: more than the longest legal name of an object (253)."""

_ELLIPSIS = "…"
_COMMAND = "::"
COMMAND_ANYWHERE = re.compile(r"##(?=\w*\[)", re.ASCII)
"""The start of a command that a CI system may execute anywhere in a line.

`##[` of GitHub Actions (actions/runner, src/Runner.Common/ActionCommand.cs), `##vso[` of Azure Pipelines
(microsoft/azure-pipelines-agent, src/Microsoft.VisualStudio.Services.Agent/Command.cs), `##teamcity[` of TeamCity.
"""


def printable(text: object, limit: int = LIMIT) -> str:
    """The text on one line of at most `limit` characters.

    Long text is shortened in the middle. Characters that are not printable, such as control characters, line
    separators and changes of writing direction, become `?`. The work is bounded by `limit`, not by the text.

    Commands for a CI system are defused: what `COMMAND_ANYWHERE` finds, and `::` at the start of a line, after any
    spaces, as the runner of GitHub Actions reads it (actions/runner, src/Runner.Common/ActionCommand.cs).
    """
    short = shorten(text if isinstance(text, str) else _described(text), limit)
    if not short.isprintable():
        short = "".join([char if char.isprintable() else "?" for char in short])
    if "##" in short:
        short = COMMAND_ANYWHERE.sub("#?", short)
    if _COMMAND in short and short.lstrip().startswith(_COMMAND):
        short = short.replace(_COMMAND, "?:", 1)
    return short


def is_plain(text: str) -> bool:
    """Whether `printable` would return every part of a text as it is, however it is divided."""
    return text.isprintable() and "##" not in text and _COMMAND not in text


def shorten(text: str, limit: int) -> str:
    """The text, or its start and its end around an ellipsis when it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}{_ELLIPSIS}{text[len(text) - tail :]}"


def cut(text: str, limit: int) -> str:
    """The text, or its start before an ellipsis when it has more than `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}{_ELLIPSIS}"


_HUGE = 10**30


def _described(value: object) -> str:
    """A value that is not text. A container is named by its kind: its text could be of any size and depth."""
    match value:
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case int() if abs(value) >= _HUGE:
            return "a huge number"  # Python writes no integer of more than 4300 digits
        case _:
            return str(value)


def is_one_edit_away(left: str, right: str) -> bool:
    """Whether inserting, removing, replacing or swapping one letter turns one into the other."""
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    left, right = left[start:], right[start:]
    swapped = len(left) >= 2 and left[1::-1] + left[2:] == right
    return swapped or left[1:] == right[1:] or left[1:] == right or left == right[1:]


class Word(NamedTuple):
    """A word with a name of a cluster. `illegal` says what the text is no legal name of; empty for a legal name."""

    text: str
    illegal: str = ""

    @property
    def doubts(self) -> tuple[str, ...]:
        """The text as data if it is not legal."""
        return (f'no legal {self.illegal} name: "{printable(self.text)}"',) if self.illegal else ()


class Command:
    """A command for a shell. A `str` among the words is written in this program; what a cluster says is a `Word`.

    Without words if a name is not legal; `doubts` then holds the names.
    """

    def __init__(self, *words: str | Word) -> None:
        names = [word if isinstance(word, Word) else Word(word) for word in words]
        self.doubts = tuple(doubt for word in names for doubt in word.doubts)
        self.words: tuple[str, ...] = () if self.doubts else tuple(word.text for word in names)

    def __str__(self) -> str:
        return shlex.join(self.words) or "no command, since a name for it is not legal"
