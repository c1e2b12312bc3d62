"""Messages that always fit: names are quoted, shortened in the middle, and free of control characters."""

from __future__ import annotations

from typing import NamedTuple

from webhook.policy.pods.quantity import NANO
from webhook.policy.printable import printable, shorten

MESSAGE_LIMIT = 112
"""Characters of a message. With its code, a warning fits the 120 characters that the API server recommends."""

_SHORTEST = 9


class Message(NamedTuple):
    """A message that is formatted on demand: of thousands of findings, only a few are kept."""

    template: str
    names: tuple[object, ...]

    def __str__(self) -> str:
        """The template with each `{}` replaced by a quoted name. Long names are shortened until the message fits."""
        names = [printable(name, MESSAGE_LIMIT) for name in self.names]
        room = MESSAGE_LIMIT - len(self.template)  # each `{}` makes room for its pair of quotes
        lengths = [len(name) for name in names]
        if sum(lengths) > room:
            names = [shorten(name, share) for name, share in zip(names, _shares(lengths, room), strict=True)]
        return self.template.format(*[f'"{name}"' for name in names])


def message(template: str, *names: object) -> Message:
    """A message with a name for each `{}` of its template."""
    return Message(template, names)


def _shares(lengths: list[int], room: int) -> list[int]:
    """The length of each name: short ones stay whole, long ones share the rest, none is shorter than `_SHORTEST`."""
    level = max(_SHORTEST, _level(lengths, room))
    spare = room - sum(min(length, level) for length in lengths)
    shares = []
    for length in reversed(lengths):
        longer = length > level and spare > 0
        spare -= longer
        shares.append(min(length, level) + longer)
    return shares[::-1]


def _level(lengths: list[int], room: int) -> int:
    """The greatest length to which names that do not fit the room may be cut so that they fit it together.

    It is the share of the longer names of what the shorter ones leave, for the number of shorter ones that leaves most.
    """
    ordered = sorted(lengths)
    return max((room - sum(ordered[:kept])) // (len(ordered) - kept) for kept in range(len(ordered)))


def amount(billionths: int) -> str:
    """A quantity for a message: plain while short, else with an exponent."""
    whole, rest = divmod(abs(billionths), NANO)
    sign = "-" if billionths < 0 else ""
    if whole >= 10**7:
        digits = str(whole)
        return f"{sign}{digits[0]}.{digits[1]}e{len(digits) - 1}"
    fraction = f"{rest:09d}".rstrip("0")
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
