"""The forms of a single value in a file: how it is read, how it is written, and what it is called in a message."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

from webhook.policy.wording import message

_LARGE = 10**15


class RefusedError(ValueError):
    """A value that is not what it must be; the message tells both, and what to do where that is known."""

    def __init__(self, noun: str, value: object, remedy: str = "") -> None:
        advice = f"; {remedy}" if remedy else ""
        super().__init__(f"must be {noun}, not {shown(value)}{advice}")


class Form(Protocol):
    """How one value is written. `noun` completes the sentence "must be ..."."""

    @property
    def noun(self) -> str:
        """What a right value is."""

    def read(self, value: object) -> Any:
        """The value to hold. Raises RefusedError."""

    def write(self, held: Any) -> Any:
        """The value as the file has it; reading it again gives what was held."""

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value in the file."""


class _Unchanged:
    """A form whose values are held as they are written."""

    __slots__ = ()

    def write(self, held: Any) -> Any:
        """The value itself."""
        return held


@dataclass(frozen=True, slots=True)
class Text(_Unchanged):
    """Text of at most `longest` characters that matches `pattern` as a whole, and `but_not` not as a whole.

    Both keep to what Go and ECMAScript know too, since the JSON Schema carries them: no lookaheads.
    """

    noun: str = "text"
    pattern: str = r"(?:.|\n)*"
    longest: int = 4096
    but_not: str = ""

    def read(self, value: object) -> str:
        """The text itself."""
        if not isinstance(value, str):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            fits = number and self._allows(str(value))
            raise RefusedError(self.noun, value, "put it in quotes" if fits else "")
        if len(value) > self.longest:
            raise RefusedError(self.noun, value, f"it is longer than {self.longest} characters")
        if not self._allows(value):
            raise RefusedError(self.noun, value)
        return value

    def _allows(self, text: str) -> bool:
        if self.but_not and re.fullmatch(self.but_not, text):
            return False
        return re.fullmatch(self.pattern, text) is not None

    def schema(self) -> dict[str, Any]:
        """A string with its patterns."""
        schema: dict[str, Any] = {"type": "string", "maxLength": self.longest, "pattern": f"^(?:{self.pattern})$"}
        return {**schema, "not": {"pattern": f"^(?:{self.but_not})$"}} if self.but_not else schema


@dataclass(frozen=True, slots=True)
class Flag(_Unchanged):
    """true or false."""

    noun: str = "true or false"

    def read(self, value: object) -> bool:
        """The boolean itself; text that only looks like one is refused."""
        if isinstance(value, bool):
            return value
        looks = isinstance(value, str) and value.lower() in ("true", "false", "yes", "no", "on", "off")
        raise RefusedError(self.noun, value, "leave out the quotes" if looks else "")

    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Whole(_Unchanged):
    """A whole number within bounds."""

    least: int
    most: int = 2**31 - 1

    @property
    def noun(self) -> str:
        """The bounds in words."""
        return f"a whole number from {self.least} to {self.most}"

    def read(self, value: object) -> int:
        """The number itself; text and fractions are refused."""
        if isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most:
            return value
        looks = isinstance(value, str) and value.strip().isdecimal()
        raise RefusedError(self.noun, value, "leave out the quotes" if looks else "")

    def schema(self) -> dict[str, Any]:
        """An integer with its bounds."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Choice(_Unchanged):
    """One of a few words. `also` holds other spellings and the word that each stands for."""

    words: tuple[str, ...]
    also: tuple[tuple[object, str], ...] = ()

    @property
    def noun(self) -> str:
        """The words, quoted."""
        quoted = [f'"{word}"' for word in self.words]
        return f"{', '.join(quoted[:-1])} or {quoted[-1]}" if len(quoted) > 1 else quoted[0]

    def read(self, value: object) -> str:
        """The word."""
        for spelling, word in self.also:
            if value is spelling:
                return word
        if isinstance(value, str) and value in self.words:
            return value
        raise RefusedError(self.noun, value, self._remedy(value))

    def _remedy(self, value: object) -> str:
        if isinstance(value, int | float) and str(value) in self.words:
            return "put it in quotes"
        return did_you_mean(value, self.words) if isinstance(value, str) else ""

    def schema(self) -> dict[str, Any]:
        """An enumeration."""
        return {"enum": [*self.words, *(spelling for spelling, _ in self.also)]}


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A question with the nearest of the known words; empty when none is near."""
    folded = {one.lower(): one for one in known}
    near = get_close_matches(word.lower(), folded, 1, cutoff=0.7)
    return f'did you mean "{folded[near[0]]}"?' if near else ""


def shown(value: object) -> str:
    """A value as a message shows it."""
    if isinstance(value, str):
        return str(message("{}", value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "so large a number" if abs(value) >= _LARGE else str(value)
    if value is None:
        return "null"
    return "a mapping" if isinstance(value, Mapping) else "a list"
