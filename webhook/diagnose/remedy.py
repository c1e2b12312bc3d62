"""What helps against a cause: prose with commands in it, as text, and as data that a program can run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final, TypeAlias, Union

from webhook.policy.commands import Command, Word
from webhook.policy.messages import printable
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
