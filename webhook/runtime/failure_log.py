"""Trouble that comes again and again: told when it begins, when it looks different, and when it is over."""

from __future__ import annotations

from typing import Any, Final, Protocol

from webhook.policy.printable import printable

_TEXT: Final = 600
"""Characters of an error: a path of a custom name and a message of the API server, each printable already."""


class Say(Protocol):
    """Tells of an event, in the manner of the journal."""

    def __call__(self, level: str, event: str, /, **fields: Any) -> None:
        """Say it."""


class FailureLog:
    """One kind of trouble: the event by which it is told, and the one by which its end is."""

    def __init__(self, say: Say, event: str, over: str) -> None:
        self._say = say
        self._event = event
        self._over = over
        self._last: str | None = None

    def __bool__(self) -> bool:
        """Whether it goes on."""
        return self._last is not None

    def goes_on(self, error: object) -> None:
        """Report the trouble, unless it looks as it did last. The text may come from anywhere."""
        text = printable(error, _TEXT)
        if text != self._last:
            self._last = text
            self._say("warning", self._event, error=self._last)

    def is_over(self) -> None:
        """It is not there, or no more."""
        if self._last is not None:
            self._last = None
            self._say("info", self._over)
