"""Whether work takes CPU time in proportion to its size: eight times as much for eight times the size."""

from __future__ import annotations

import time
from collections.abc import Callable

TOLERATED = 24
"""The ratio of times for n and 8n: about 8 where work is linear, 64 where it is quadratic.

It leaves room for a step on the way: memory beyond the processor's caches, or beyond what the allocator keeps.
"""

_MEASURABLE = 0.004
"""Seconds that can be measured to a few per cent."""

_ATTEMPTS = 4

Work = Callable[[], object]


def assert_linear(prepared: Callable[[int], Work], smallest: int, largest: int) -> None:
    """Compare the work of a size with that of the eightfold. The size is the first that takes measurable time.

    Another program may take the processor's caches for a moment: only what is slow at each attempt is slow.
    """
    size = smallest
    while size < largest and _best(prepared(size), 1) < _MEASURABLE:
        size *= 2
    once, eightfold = prepared(size), prepared(8 * size)
    ratios: list[float] = []
    while len(ratios) < _ATTEMPTS and (not ratios or TOLERATED < ratios[-1] < 2 * TOLERATED):
        ratios.append(_best(eightfold, 2) / max(_best(once, 4), _MEASURABLE / 4))
    assert min(ratios) <= TOLERATED, (size, ratios)


def assert_at_most(times: float, less: Work, more: Work) -> None:
    """Compare the CPU time of two pieces of work, each long enough to be measured. As above, one attempt suffices."""
    ratios: list[float] = []
    while len(ratios) < _ATTEMPTS and (not ratios or ratios[-1] > times):
        ratios.append(_best(more, 3) / _best(less, 3))
    assert min(ratios) <= times, ratios


def _best(work: Work, times: int) -> float:
    """The least CPU time of some runs."""
    return min(_seconds(work) for _ in range(times))


def _seconds(work: Work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
