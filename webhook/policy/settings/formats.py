"""Formats of single values: what is allowed, what a message calls it, and what to do about a wrong value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from webhook.policy.printable import printable

_LARGE = 10**15
_SHOWN = 110
"""Characters of a text that a message quotes."""


@runtime_checkable
class Format(Protocol):
    """What one value may be. It stands in the annotation of a field: `Annotated[int, Range(0, 65535)]`."""

    @property
    def description(self) -> str:
        """The end of the sentence "must be ..."."""

    def allows(self, held: object) -> bool:
        """Whether the program may hold this value."""

    def read(self, value: object) -> Any:
        """The value that the program holds for one of a file. Raises ValueError if the format does not allow it."""

    def write(self, held: Any) -> Any:
        """The value as a file spells it."""

    def remedy(self, value: object) -> str:
        """What to do about a wrong value in a file; empty when there is nothing to add to the description."""


class _AsWritten:
    """A format whose values the program holds as the file spells them."""

    __slots__ = ()

    def read(self: Format, value: object) -> Any:
        if not self.allows(value):
            raise ValueError(self.description)
        return value

    def write(self, held: Any) -> Any:
        return held


@dataclass(frozen=True, slots=True)
class Text(_AsWritten):
    """Text of at most `longest` characters: all of it matches `pattern`, and does not match `but_not`.

    The JSON Schema carries both patterns, so they use only what Go, Rust and ECMAScript know too: no lookaheads.
    """

    description: str = "text"
    pattern: str = r"(?:.|\n)*"
    longest: int = 4096
    but_not: str = ""

    def allows(self, held: object) -> bool:
        return isinstance(held, str) and len(held) <= self.longest and self._matches(held)

    def excludes(self, text: str) -> bool:
        """Whether `but_not` rules the text out."""
        return bool(self.but_not) and re.fullmatch(self.but_not, text) is not None

    def _matches(self, text: str) -> bool:
        return re.fullmatch(self.pattern, text) is not None and not self.excludes(text)

    def remedy(self, value: object) -> str:
        """Quotes for a number that would be right as text; a shorter text."""
        if isinstance(value, str):
            return f"it is longer than {self.longest} characters" if len(value) > self.longest else ""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return "put it in quotes" if number and self._matches(str(value)) else ""


@dataclass(frozen=True, slots=True)
class Flag(_AsWritten):
    """true or false."""

    description: str = "true or false"

    def allows(self, held: object) -> bool:
        return isinstance(held, bool)

    def remedy(self, value: object) -> str:
        """No quotes around a word that YAML reads as a boolean."""
        looks = isinstance(value, str) and value.lower() in ("true", "false", "yes", "no", "on", "off")
        return "leave out the quotes" if looks else ""


@dataclass(frozen=True, slots=True)
class FlagOr(_AsWritten):
    """true, false or one word."""

    word: str

    @property
    def description(self) -> str:
        return f'true, false or "{self.word}"'

    def allows(self, held: object) -> bool:
        return isinstance(held, bool) or held == self.word

    def remedy(self, value: object) -> str:
        """No quotes around a word that YAML reads as a boolean, or the nearest word."""
        return Flag().remedy(value) or (did_you_mean(value, (self.word,)) if isinstance(value, str) else "")


@dataclass(frozen=True, slots=True)
class Range(_AsWritten):
    """A whole number from `least` to `most`, both included."""

    least: int
    most: int = 2**31 - 1

    @property
    def description(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def allows(self, held: object) -> bool:
        """Whether it is an integer within the bounds."""
        return isinstance(held, int) and not isinstance(held, bool) and self.least <= held <= self.most

    def remedy(self, value: object) -> str:
        return "leave out the quotes" if isinstance(value, str) and value.strip().isdecimal() else ""


@dataclass(frozen=True, slots=True)
class Choice(_AsWritten):
    """One of a few words. `also` holds other spellings, each with the word that it stands for."""

    words: tuple[str, ...]
    also: tuple[tuple[object, str], ...] = ()

    @property
    def description(self) -> str:
        quoted = [f'"{word}"' for word in self.words]
        return f"{', '.join(quoted[:-1])} or {quoted[-1]}" if len(quoted) > 1 else quoted[0]

    def allows(self, held: object) -> bool:
        return isinstance(held, str) and held in self.words

    def read(self, value: object) -> Any:
        """The word itself, or the one that another spelling stands for. Raises ValueError."""
        return _AsWritten.read(self, next((word for spelling, word in self.also if value is spelling), value))

    def remedy(self, value: object) -> str:
        """Quotes around a number, or the nearest word."""
        if isinstance(value, int | float) and str(value) in self.words:
            return "put it in quotes"
        return did_you_mean(value, self.words) if isinstance(value, str) else ""


def refusal(form: Format, value: object) -> str:
    """Why a format does not allow a value of a file, and what to do."""
    remedy = form.remedy(value)
    return f"must be {form.description}, not {shown(value)}" + (f"; {remedy}" if remedy else "")


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A question with the nearest of the known words; empty when none is near."""
    from difflib import get_close_matches  # only for what is wrong

    folded = {one.lower(): one for one in known}
    near = get_close_matches(word.lower(), folded, 1, cutoff=0.7)
    return f'did you mean "{folded[near[0]]}"?' if near else ""


def shown(value: object) -> str:
    """A value as a message shows it."""
    if isinstance(value, str):
        return f'"{printable(value, _SHOWN)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "so large a number" if abs(value) >= _LARGE else str(value)
    if value is None:
        return "null"
    return "a mapping" if isinstance(value, Mapping) else "a list"
