"""Untrusted text made safe to print: short, on one line, and never a command for a terminal or a CI system.

Names, paths, options and messages of libraries pass through here before they reach a message, a log or a terminal.
"""

from __future__ import annotations

import re

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


def shorten(text: str, limit: int) -> str:
    """The text, or its start and its end around an ellipsis when it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}{_ELLIPSIS}{text[len(text) - tail :]}"


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
