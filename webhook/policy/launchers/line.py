"""A command line: its words, and the element of the container from which each word comes."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.policy.launchers.launch import Place


class Line:
    """One command line.

    `has_command`: the container replaces the image's entrypoint, or a shell runs the line, so that the first word is
    the program. `joins_ray`: the line belongs to arguments that set up a Ray cluster.
    """

    __slots__ = ("_commands", "_script", "has_command", "joins_ray", "words")

    def __init__(self, words: Sequence[str], commands: int, *, script: Place | None = None, joins_ray: bool) -> None:
        """Make the line of words, of which the first `commands` are from `command`, or all from a script at a place."""
        self.words = words
        self._commands = commands
        self._script = script
        self.has_command = commands > 0 or script is not None
        self.joins_ray = joins_ray

    def has_at(self, index: int, word: str) -> bool:
        """Whether the word with this index is there and is this one, such as the subcommand of a program."""
        return index < len(self.words) and self.words[index] == word

    def place(self, index: int) -> Place:
        """The element that holds the word with this index."""
        if self._script is not None:
            return self._script
        if index < self._commands:
            return "command", index
        return "args", index - self._commands
