"""The log of readiness: a replica that is not ready says what it waits for, without a request to its health port."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from webhook.runtime.retry import delay, monotonic
from webhook.server.observe.log import EventLog

_LOOK: Final = 1.0
"""Seconds between two looks at the conditions."""

_PATIENCE: Final = 10.0
"""Seconds that a replica may be unready without a line, as it usually is when it starts."""

_AGAIN: Final = 60.0
"""Seconds between two lines."""


class ReadinessLog:
    """Logs every minute which conditions do not hold, until all of them hold or the server stops.

    `conditions` are those of readiness by name. `stopping` tells whether the server is meant to be unready.
    """

    def __init__(self, conditions: Callable[[], dict[str, bool]], stopping: Callable[[], bool], log: EventLog) -> None:
        self._conditions = conditions
        self._stopping = stopping
        self._log = log

    async def run(self) -> None:
        due: float | None = None
        logged = False
        while not self._stopping():
            reasons = [name for name, holds in self._conditions().items() if not holds]
            if not reasons:
                if logged:
                    self._log.event("info", "ready")
                due, logged = None, False
            elif due is None:
                due = monotonic() + _PATIENCE
            elif monotonic() >= due:
                self._log.event("warning", "not ready", reasons=reasons)
                due, logged = monotonic() + _AGAIN, True
            await delay(_LOOK)
