"""Commands in text for people: words that a shell reads back as they are, with names that the API server accepts.

A tenant chooses names that nothing validates, such as those of owner references, volumes and Events. A copied command
runs with the rights of its reader, so a text that is no legal name is shown as data, and never in a command.
"""

from __future__ import annotations

import shlex
from typing import NamedTuple

from webhook.policy.messages import printable


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
