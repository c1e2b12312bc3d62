"""Reviews that cannot be answered."""

from __future__ import annotations

from webhook.policy.printable import printable

_MESSAGE = 400
"""Characters of a message. A path with long keys is shortened; the reason at its end is kept."""


class BadReviewError(Exception):
    """A review that cannot be answered. The message states the reason and is safe to print."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message, _MESSAGE))


class TooComplexError(BadReviewError):
    """A review with more structure than is decoded. The message states the limit."""
