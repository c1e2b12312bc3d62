"""Results that are remembered. Long text, which a tenant could send, is never a key."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Generic, TypeVar

LONGEST = 256
"""Characters of the longest text that is kept as a key."""

_Result = TypeVar("_Result")


def memo(size: int) -> Callable[[Callable[[str], _Result]], Callable[[str], _Result]]:
    """Remember up to `size` results of a function of one text. Text longer than `LONGEST` is computed each time.

    So a memo holds at most `size` texts of 256 characters, whatever tenants send.
    """

    def decorate(function: Callable[[str], _Result]) -> Callable[[str], _Result]:
        remembered = lru_cache(maxsize=size)(function)

        @wraps(function)
        def call(text: str) -> _Result:
            return remembered(text) if len(text) <= LONGEST else function(text)

        return call

    return decorate


class Lazy(Generic[_Result]):
    """An attribute that is computed when it is first read.

    Until Python 3.12, `functools.cached_property` holds one lock for all objects, so that the event loop would wait for
    a large review on a thread.
    """

    def __init__(self, compute: Callable[[Any], _Result]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> _Result:
        result = instance.__dict__[self._name] = self._compute(instance)
        return result
