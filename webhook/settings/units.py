"""Durations and sizes: text with units in the file, seconds and bytes inside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from webhook.settings.forms import RefusedError, Text

_DURATION = "(?:[0-9]{1,11}(?:h|ms|m|s))+"
_ZERO = "[^1-9]*"
_SIZE = r"0*[1-9][0-9]{0,11}(?:Ki|Mi|Gi|k|M|G)?"
_MILLISECONDS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_BYTES = {"Gi": 2**30, "Mi": 2**20, "Ki": 2**10, "G": 10**9, "M": 10**6, "k": 10**3, "": 1}
_MOST_HOURS = 8760
_MOST_BYTES = 10**12


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration such as `5s`, `1h30m` or `500ms`, held in seconds. Milliseconds are the least it can tell."""

    may_be_zero: bool = False

    @property
    def noun(self) -> str:
        """What it is, with examples."""
        return f"a duration {'' if self.may_be_zero else 'above zero '}such as 5s, 1h30m or 500ms"

    @property
    def _text(self) -> Text:
        return Text(self.noun, _DURATION, 40, "" if self.may_be_zero else _ZERO)

    def read(self, value: object) -> float:
        """The seconds."""
        if isinstance(value, int) and not isinstance(value, bool):
            raise RefusedError(self.noun, value, "add the unit")
        parts = re.findall("([0-9]+)([a-z]+)", self._text.read(value))
        milliseconds = sum(int(count) * _MILLISECONDS[unit] for count, unit in parts)
        if milliseconds > _MOST_HOURS * _MILLISECONDS["h"]:
            raise RefusedError(self.noun, value, f"{_MOST_HOURS}h is the most")
        return milliseconds / 1000

    def write(self, held: Any) -> str:
        """The duration in the largest unit that fits without a rest."""
        milliseconds = round(held * 1000)
        if milliseconds == 0:
            return "0s"
        unit = next(unit for unit, worth in _MILLISECONDS.items() if milliseconds % worth == 0)
        return f"{milliseconds // _MILLISECONDS[unit]}{unit}"

    def schema(self) -> dict[str, Any]:
        """A string with its patterns."""
        return self._text.schema()


@dataclass(frozen=True, slots=True)
class DurationText:
    """A duration that is held as it is written."""

    noun: str = Duration().noun

    def read(self, value: object) -> str:
        """The text itself, when it is a duration."""
        Duration().read(value)
        return str(value)

    def write(self, held: Any) -> Any:
        """The text itself."""
        return held

    def schema(self) -> dict[str, Any]:
        """A string with its patterns."""
        return Duration().schema()


@dataclass(frozen=True, slots=True)
class Size:
    """A size such as `7Mi`, `512Ki` or `100000`, held in bytes."""

    noun: str = "a size such as 7Mi, 512Ki or 100000 (bytes)"

    def read(self, value: object) -> int:
        """The bytes; a plain number counts them."""
        if isinstance(value, int) and not isinstance(value, bool):
            if not 0 < value < _MOST_BYTES:
                raise RefusedError(self.noun, value)
            return value
        text = Text(self.noun, _SIZE, 40).read(value)
        digits = text.rstrip("KMGik")
        return int(digits) * _BYTES[text[len(digits) :]]

    def write(self, held: Any) -> str:
        """The size in the largest unit that fits without a rest."""
        unit = next(unit for unit, worth in _BYTES.items() if held % worth == 0)
        return f"{held // _BYTES[unit]}{unit}"

    def schema(self) -> dict[str, Any]:
        """A string with its pattern, or a number of bytes."""
        return {
            "anyOf": [
                Text(pattern=_SIZE, longest=40).schema(),
                {"type": "integer", "minimum": 1, "maximum": _MOST_BYTES - 1},
            ]
        }


Seconds: TypeAlias = Annotated[float, Duration()]
"""A duration above zero."""

Delay: TypeAlias = Annotated[float, Duration(may_be_zero=True)]
"""A duration that may be zero."""

Bytes: TypeAlias = Annotated[int, Size()]
"""A size."""
