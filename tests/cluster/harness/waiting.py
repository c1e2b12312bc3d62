"""Conditions in the status of objects, and the wait for what holds, with a deadline."""

from __future__ import annotations

import time
from threading import Event
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cluster.harness.api import Object

T = TypeVar("T")


def wait_for(what: str, condition: Callable[[], T | None], *, seconds: float = 180, every: float = 0.1) -> T:
    """The first answer of `condition` that is true.

    Raises `TimeoutError` with `what` and the last answer. An exception of `condition` ends the wait.
    """
    pause = Event()  # never set: its wait is the interval between two calls
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() >= deadline:
            raise TimeoutError(f"waited {seconds:g} s for {what}; the last answer was {answer!r}")
        pause.wait(every)
    return answer


def met(found: Object, kind: str) -> bool:
    """Whether the object's condition of this type is met: its status is `True`.

    A new object may have no status, no conditions or `conditions: null`: Go writes a nil slice as null,
    and a CustomResourceDefinition is read that way until the API server takes it up.
    """
    conditions = found.get("status", {}).get("conditions") or ()
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)
