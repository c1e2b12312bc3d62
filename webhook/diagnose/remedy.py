"""What helps against a cause: prose with commands in it, as text, and as data that a program can run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from itertools import chain, groupby
from typing import Any, Final, TypeAlias, Union

from webhook.diagnose.words import named
from webhook.policy.messages import Command, Word, printable
from webhook.report.lines import columns, hanging, wrapped

_LONGEST: Final = 512
"""Characters of a piece of prose, which may quote a remedy of a check. A command is bounded by its names."""


class Remedy:
    """The parts of a remedy, which follow each other without a space. Empty where there is nothing to do."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Advice) -> None:
        self.parts: tuple[str | Word | Command, ...] = tuple(_flat(parts))

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __str__(self) -> str:
        return "".join(map(_shown, self.parts))

    @property
    def doubts(self) -> list[str]:
        """The names that are not legal, as data: the text of a remedy holds none of them."""
        of_parts = (() if isinstance(one, str) else one.doubts for one in self.parts)
        return list(dict.fromkeys(doubt for doubts in of_parts for doubt in doubts))

    def as_data(self) -> dict[str, Any]:
        """Return the text, and the commands in it as lists of words."""
        commands = [list(one.words) for one in self.parts if isinstance(one, Command) and one.words]
        return {"remedy": str(self), "commands": commands}

    def lines(self, head: str, width: int | None, indent: str) -> Iterator[str]:
        """Yield the lines of text after a head. A command continues after a backslash, so a shell runs all of it."""
        whole = str(self)
        if width is None or columns(head) + 1 + columns(whole) <= width:
            yield f"{head} {whole}"
            return
        for is_command, parts in groupby(self.parts, lambda one: isinstance(one, Command)):
            text = "".join(map(_shown, parts))
            if is_command:
                yield from _continued(f"{head} " if head else indent, shlex.split(text), width, indent)
            elif text := text.strip(" ") if head else text.strip(" ,;:"):
                yield from hanging(head, text, width, indent) if head else wrapped(text, width, indent)
            head = ""


Advice: TypeAlias = Union[str, Word, Command, "Remedy"]
"""What a remedy is made of. A `str` is prose, such as a check's remedy, which quotes names; a `Word` holds a name."""


_PIECE: Final = re.compile(r"(`[^`]*`|\{\w+\})", re.ASCII)
_NAME: Final = re.compile(r"\{(\w+)\}", re.ASCII)


def filled(template: str, find: Callable[[str], str | list[Any]]) -> Remedy:
    """Fill a template of a remedy: prose with `commands` between backquotes, and {names} in both.

    `find` returns the words that stand for a name, or the name of something of a cluster, whose noun it is. What a
    cluster says is never part of the template itself.
    """

    def words(piece: str) -> list[Any]:
        if (name := _NAME.fullmatch(piece)) is None:
            return [piece]
        value = find(name[1])
        return [named(name[1], value)] if isinstance(value, str) else value

    parts: list[Advice] = []
    for piece in _PIECE.split(template):
        is_command = piece.startswith("`")
        parts += [Command(*chain.from_iterable(map(words, shlex.split(piece[1:-1]))))] if is_command else words(piece)
    return Remedy(*parts)


def _flat(parts: tuple[Advice, ...]) -> Iterator[str | Word | Command]:
    for one in parts:
        if isinstance(one, Remedy):
            yield from one.parts
        elif one:
            yield one


def _continued(line: str, words: list[str], width: int, indent: str) -> Iterator[str]:
    """The lines of a command, after what the first one begins with. No word is broken."""
    has_words = False
    for word in map(shlex.quote, words):
        if has_words and columns(line) + columns(word) + len(" \\") > width:
            yield f"{line}\\"
            line = indent
        line, has_words = f"{line}{word} ", True
    yield line.rstrip(" ")


def _shown(part: str | Word | Command) -> str:
    if isinstance(part, Word):
        return "NAME" if part.illegal else part.text
    return printable(part, _LONGEST) if isinstance(part, str) else str(part)
