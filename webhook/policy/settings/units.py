"""Durations and sizes: text with units in a file, seconds and bytes in the program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from webhook.policy.settings.formats import Range, Text

_MILLISECONDS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_BYTES = {"Gi": 2**30, "Mi": 2**20, "Ki": 2**10, "G": 10**9, "M": 10**6, "k": 10**3, "": 1}
_MOST_HOURS = 8760
_MOST_BYTES = 10**12 * 2**30

SIZE_TEXT = Text(pattern=r"0*[1-9][0-9]{0,11}(?:Ki|Mi|Gi|k|M|G)?", longest=40)
"""A size with its unit."""

SIZE_NUMBER = Range(1, 10**12 - 1)
"""A size as a number of bytes."""


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration such as `5s`, `1h30m` or `500ms`, held in seconds. The finest unit is the millisecond."""

    may_be_zero: bool = False

    @property
    def description(self) -> str:
        """What it is, with examples."""
        return f"a duration {'' if self.may_be_zero else 'above zero '}such as 5s, 1h30m or 500ms"

    @property
    def text(self) -> Text:
        """The format of its text; the text may still stand for more than a year."""
        return Text(self.description, "(?:[0-9]{1,11}(?:h|ms|m|s))+", 40, "" if self.may_be_zero else "[^1-9]*")

    def allows(self, held: object) -> bool:
        """Whether it is a number of seconds within the bounds."""
        number = isinstance(held, int | float) and not isinstance(held, bool)
        return number and (0 if self.may_be_zero else 0.001) <= held <= _MOST_HOURS * 3600  # type: ignore[operator]

    def read(self, value: object) -> float:
        """The seconds that a text stands for. Raises ValueError."""
        if not (isinstance(value, str) and self.text.allows(value) and _milliseconds(value) <= _MOST_HOURS * 3_600_000):
            raise ValueError(self.description)
        return _milliseconds(value) / 1000

    def write(self, held: Any) -> str:
        """The duration in the largest unit that divides it."""
        milliseconds = round(held * 1000)
        if milliseconds == 0:
            return "0s"
        unit = next(unit for unit, worth in _MILLISECONDS.items() if milliseconds % worth == 0)
        return f"{milliseconds // _MILLISECONDS[unit]}{unit}"

    def remedy(self, value: object) -> str:
        """A unit after a bare number; the longest duration."""
        if isinstance(value, int) and not isinstance(value, bool):
            return "add the unit"
        return f"{_MOST_HOURS}h is the most" if self.text.allows(value) else self.text.remedy(value)


def _milliseconds(text: str) -> int:
    return sum(int(count) * _MILLISECONDS[unit] for count, unit in re.findall("([0-9]+)([a-z]+)", text))


@dataclass(frozen=True, slots=True)
class Size:
    """A size such as `7Mi`, `512Ki` or `100000`, held in bytes."""

    description: str = "a size such as 7Mi, 512Ki or 100000 (bytes)"

    def allows(self, held: object) -> bool:
        """Whether it is a number of bytes within the bounds."""
        return Range(1, _MOST_BYTES).allows(held)

    def read(self, value: object) -> int:
        """The bytes that a text or a number stands for. Raises ValueError."""
        if isinstance(value, int) and SIZE_NUMBER.allows(value):
            return value
        if not (isinstance(value, str) and SIZE_TEXT.allows(value)):
            raise ValueError(self.description)
        digits = value.rstrip("KMGik")
        return int(digits) * _BYTES[value[len(digits) :]]

    def write(self, held: Any) -> str:
        """The size in the largest unit that divides it."""
        unit = next(unit for unit, worth in _BYTES.items() if held % worth == 0)
        return f"{held // _BYTES[unit]}{unit}"

    def remedy(self, value: object) -> str:
        return SIZE_TEXT.remedy(value) if isinstance(value, str) else ""


Seconds: TypeAlias = Annotated[float, Duration()]
"""A duration above zero."""

Delay: TypeAlias = Annotated[float, Duration(may_be_zero=True)]
"""A duration that may be zero."""

Bytes: TypeAlias = Annotated[int, Size()]
"""A size."""
