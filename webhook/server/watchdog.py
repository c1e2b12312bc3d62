"""The event loop watchdog: measures how late the loop is, and logs where it hangs when it stalls."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from pathlib import PurePath
from time import monotonic

from webhook.server.log import EventLog
from webhook.server.metrics import Metrics

_INTERVAL = 0.1
"""Seconds between two ticks."""

_STALL = 1.0
"""Seconds without a tick after which the loop counts as stalled: a fifth of a webhook's usual timeout."""


class LoopWatchdog:
    """Ticks on the event loop, and watches the ticks from a thread."""

    def __init__(self, log: EventLog, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        self._due = monotonic() + _INTERVAL
        self._last_lag = 0.0
        self._loop = asyncio.get_running_loop()
        self._stopped = threading.Event()
        thread = threading.get_ident()
        self._watcher = threading.Thread(target=self._watch, args=(thread,), name="watchdog", daemon=True)

    def start(self) -> None:
        self._due = monotonic() + _INTERVAL
        self._tick_handle = self._loop.call_later(_INTERVAL, self._tick)
        self._watcher.start()

    def stop(self) -> None:
        self._stopped.set()
        self._tick_handle.cancel()
        if self._watcher.is_alive():  # not if it could not start
            self._watcher.join()

    def lag(self, now: float) -> float:
        """How many seconds the loop is late at a time of the monotonic clock."""
        return max(0.0, now - self._due)

    def arrival(self) -> float:
        """The earliest time at which the bytes being read may have arrived: a late loop leaves them unread."""
        now = monotonic()
        return now - max(self.lag(now), self._last_lag)

    def _tick(self) -> None:
        now = monotonic()
        lag = self.lag(now)
        self._metrics.loop_lag.observe(lag)
        if lag > _INTERVAL:
            # A loop that resumes after a stall runs its timers before it reads what arrived meanwhile.
            self._last_lag = lag
            self._loop.call_soon(self._loop.call_soon, self._forget_lag)
        self._due = now + _INTERVAL
        self._tick_handle = self._loop.call_later(_INTERVAL, self._tick)

    def _forget_lag(self) -> None:
        self._last_lag = 0.0

    def _watch(self, loop_thread: int) -> None:
        before = monotonic()
        while not self._stopped.wait(_STALL / 4):
            now = monotonic()
            # If this thread wakes late too, no thread of the process ran: it was suspended, or starved of CPU.
            if now - before > _STALL:
                self._report("process", "process stalled", seconds=round(now - before, 3))
            elif (lag := self.lag(now)) > _STALL:
                # The library reference documents it for debugging a deadlock; it has no other name.
                frame = sys._current_frames().get(loop_thread)  # noqa: SLF001
                frames = traceback.extract_stack(frame)[-4:] if frame else []
                innermost = [f"{PurePath(call.filename).name}:{call.lineno} {call.name}" for call in reversed(frames)]
                self._report("loop", "event loop stalled", where=" < ".join(innermost))
                while self.lag(monotonic()) > _STALL and not self._stopped.wait(_INTERVAL):
                    pass
                self._log.event("warning", "event loop recovered", seconds=round(monotonic() - now + lag, 3))
            before = monotonic()

    def _report(self, cause: str, event: str, **fields: object) -> None:
        self._metrics.stalls.labels(cause).inc()
        self._log.event("error", event, **fields)
