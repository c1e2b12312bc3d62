"""Work in steps: a generator that yields between slices of its work, and returns the result."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sized
from typing import TypeAlias, TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V", bound=Sized)

ENTRIES = 1024
"""Entries of mappings that are handled in one step."""

Steps: TypeAlias = Generator[None, None, T]
"""Work in steps of about a millisecond: a server handles requests between two of them."""


def converted(source: Mapping[K, V], convert: Callable[[V], Steps[T]]) -> Steps[dict[K, T]]:
    """A mapping with its values converted, which takes time in proportion to their lengths."""
    made: dict[K, T] = {}
    entries = 0
    for key, value in source.items():
        entries += 4 + len(value)  # a short value takes as long as some entries of a long one
        if entries > ENTRIES:
            entries = 0
            yield
        made[key] = yield from convert(value)
    return made


def finished(steps: Steps[T]) -> T:
    """The result of work in steps, done at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
