"""Repeated failures: their beginning, changes and end in the log, and names that were reported recently."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from webhook.policy.messages import printable
from webhook.runtime.retry import monotonic

_TEXT: Final = 600
"""Characters of an error: a path with a custom name and a message of the API server, each printable already."""


class LogEvent(Protocol):
    """Logs an event, as `EventLog.event` does."""

    def __call__(self, level: str, event: str, /, **fields: Any) -> None:
        """Log an event with its fields. `level` is debug, info, warning or error."""


@dataclass(eq=False, slots=True)
class FailureLog:
    """One kind of failure. `failed` is the event that reports it at `level`, `recovered` the one that reports its end.

    The end of a warning is reported at level info.
    """

    log: LogEvent
    failed: str
    recovered: str
    level: str = "warning"
    _last: str | None = None

    def __bool__(self) -> bool:
        return self._last is not None

    def report(self, error: object) -> None:
        """Log a failure unless it equals the last one. The text may come from anywhere."""
        text = printable(error, _TEXT)
        if text != self._last:
            self._last = text
            self.log(self.level, self.failed, error=text)

    def recover(self) -> None:
        if self._last is not None:
            self._last = None
            self.log("info" if self.level == "warning" else self.level, self.recovered)


_AGAIN: Final = 600.0
"""Seconds after which something is logged again that went away and came back."""

_REMEMBERED: Final = 1000
"""Different texts that are logged within that time."""


class Recently:
    """The texts that were logged in the last ten minutes, at most 1,000."""

    def __init__(self) -> None:
        self._logged: dict[str, float] = {}

    def new(self, texts: Iterable[str]) -> list[str]:
        """The texts to log now, in order. From now on they count as logged."""
        now = monotonic()
        self._logged = {text: when for text, when in self._logged.items() if now - when < _AGAIN}
        new = sorted(set(texts) - self._logged.keys())[: _REMEMBERED - len(self._logged)]
        self._logged |= dict.fromkeys(new, now)
        return new
