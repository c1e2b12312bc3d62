"""Work in steps: a generator that yields between slices of its work, and returns the result."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, T]
"""Work in steps of about a millisecond: a server handles requests between two of them."""


def finished(steps: Steps[T]) -> T:
    """The result of work in steps, done at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
