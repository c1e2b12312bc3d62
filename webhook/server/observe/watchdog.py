"""The event loop's pulse: how late the loop is, and where it hangs when it stands still."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from pathlib import PurePath
from time import monotonic

from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics

_BEAT = 0.1
"""Seconds between two beats."""

_STALL = 1.0
"""Seconds without a beat after which the loop counts as stalled: a fifth of the usual timeout of a hook."""


class LoopWatchdog:
    """Beats on the event loop, and is watched by a thread."""

    def __init__(self, log: EventLog, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        self._due = monotonic() + _BEAT
        self._just_late = 0.0
        self._ended = threading.Event()
        self._beating: asyncio.TimerHandle | None = None
        self._watcher: threading.Thread | None = None

    def start(self) -> None:
        """Begin to beat on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._due = monotonic() + _BEAT
        self._beating = self._loop.call_later(_BEAT, self._beat)
        self._watcher = threading.Thread(target=self._watch, args=(threading.get_ident(),), name="pulse", daemon=True)
        self._watcher.start()

    def stop(self) -> None:
        """Beat no more."""
        self._ended.set()
        if self._beating is not None and self._watcher is not None:
            self._beating.cancel()
            self._watcher.join()

    def behind(self, now: float) -> float:
        """How many seconds the loop is late at a time of the monotonic clock."""
        late = now - self._due
        return late if late > 0 else 0.0

    def arrival(self) -> float:
        """When bytes that are being read may have arrived, at the earliest: while the loop was late they lay unread."""
        now = monotonic()
        return now - max(self.behind(now), self._just_late)

    def _beat(self) -> None:
        now = monotonic()
        late = self.behind(now)
        self._metrics.loop_lag.observe(late)
        if late > _BEAT:
            # A loop that wakes after a suspension runs its timers before it reads what has come meanwhile.
            self._just_late = late
            self._loop.call_soon(self._loop.call_soon, self._forget)
        self._due = now + _BEAT
        self._beating = self._loop.call_later(_BEAT, self._beat)

    def _forget(self) -> None:
        self._just_late = 0.0

    def _watch(self, thread: int) -> None:
        before = monotonic()
        while not self._ended.wait(_STALL / 4):
            now = monotonic()
            # A watcher that wakes late shows that no thread of the process ran: it was suspended, or starved of CPU.
            if now - before > _STALL:
                self._tell("process", "process stood still", seconds=round(now - before, 3))
            elif self.behind(now) > _STALL:
                self._tell("loop", "event loop stalled", where=_where(thread))
                self._await_end(now - self.behind(now))
            before = monotonic()

    def _tell(self, cause: str, event: str, **fields: object) -> None:
        self._metrics.stalls.labels(cause).inc()
        self._log.event("error", event, **fields)

    def _await_end(self, since: float) -> None:
        while self.behind(monotonic()) > _STALL and not self._ended.wait(_BEAT):
            pass
        self._log.event("warning", "event loop goes on", seconds=round(monotonic() - since, 3))


def _where(thread: int) -> str:
    """What a thread is doing: its innermost places, the last call first."""
    frame = sys._current_frames().get(thread)
    places = traceback.extract_stack(frame)[-4:] if frame else []
    return " < ".join(f"{PurePath(place.filename).name}:{place.lineno} {place.name}" for place in reversed(places))
