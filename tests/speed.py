"""How fast a process computes at the moment, so that processor times of different machines compare."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable

_STANDARD = 0.025
"""The processor seconds of the loop on the machine in whose seconds times are given."""

_EVERY = 10.0
"""Processor seconds after which a process measures its speed again, since other work on the machine begins and ends."""


def loop() -> float:
    """The processor seconds of a fixed loop, the least of several."""
    collects = gc.isenabled()
    gc.disable()  # the process's own objects must not count
    try:
        return min(_timed() for _ in range(3))
    finally:
        if collects:
            gc.enable()


def _timed() -> float:
    start = time.process_time()
    value = {str(number): [number] * 20 for number in range(3_000)}
    for _ in range(2):
        value = json.loads(json.dumps(value, sort_keys=True))
        sorted(value.values(), key=str)
    return time.process_time() - start


class Speed:
    """The speed of this process, measured by a fixed loop while other work runs on the machine."""

    def __init__(self, loop: Callable[[], float] = loop) -> None:
        self._loop = loop
        self._now = loop()
        self._spent = 0.0

    def scaled(self, seconds: float) -> float:
        """Processor seconds that this process spent just now, in those of the standard machine."""
        self._spent += seconds
        if self._spent >= _EVERY:
            self._now, self._spent = self._loop(), 0.0
        return seconds * _STANDARD / self._now
