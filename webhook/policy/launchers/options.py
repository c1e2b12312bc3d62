"""The options of a command line: the spelling of names, where values are, and what counts as a number.

A value that holds a variable, a placeholder or a word such as `auto` is no number: what it stands for is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from webhook.policy.launchers.line import Line

_MOST_DIGITS = 5
"""Digits of an amount. A longer one is a typo, or hostile."""


class Options:
    """The options of one program that matter, by their canonical names. The last of several equal ones counts."""

    __slots__ = ("_found", "end")

    def __init__(self, line: Line, start: int, aliases: Mapping[str, str], flags: Set[str] | None = None) -> None:
        """Read the words from an index on.

        `aliases` maps each spelling, with dashes for underscores, to a canonical name. `flags` are the options without
        a value of a launcher that starts a program: the first word that is neither option nor value ends its options,
        and `end` is the index of that word. Without `flags` all words are read.
        """
        self._found: dict[str, tuple[str, int]] = {}
        words = line.words
        index, count = start, len(words)
        while index < count:
            word = words[index]
            if not word.startswith("-"):
                if flags is not None:
                    break
                index += 1
                continue
            name, is_joined, value = word.partition("=")
            if "_" in name:
                name = name.replace("_", "-")
            at = index
            index += 1
            if not is_joined:
                if flags is not None and name in flags:
                    value = "true"
                elif index < count and (flags is not None or not words[index].startswith("-")):
                    value, at = words[index], index
                    if flags is not None:
                        index += 1
            known = aliases.get(name)
            if known is not None:
                self._found[known] = (value, at)
        self.end = index

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def text(self, name: str) -> str:
        """The value as it is written; empty where the option is absent."""
        found = self._found.get(name)
        return "" if found is None else found[0]

    def number(self, name: str) -> int | None:
        """The value as a number above 0; None where the option is absent or its value is no such number."""
        found = self._found.get(name)
        return None if found is None else number(found[0])

    def factor(self, name: str) -> int:
        """The least that the option multiplies an amount by: 1 where it is absent or unknown."""
        found = self._found.get(name)
        return 1 if found is None else number(found[0]) or 1

    def index(self, name: str) -> int:
        """The index of the word that holds the value."""
        return self._found[name][1]


def number(text: str) -> int | None:
    """A text as a number above 0, or None."""
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS:
        return None
    return int(text) or None
