"""What was logged a short time ago, and need not be logged again: a node's agent may change facts at will."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.runtime.retry import monotonic

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
