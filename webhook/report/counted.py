"""Numbers and what they count, for people."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """Return a number and what it counts."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
