"""One request and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from aiohttp import web


class Answered(Protocol):
    """Takes note that the answer is written; `is_last` where it ends the connection."""

    def __call__(self, *, is_last: bool) -> None:
        """Take note."""


@dataclass(slots=True)
class Exchange:
    """What a connection knows about a request that has begun.

    `arrived` is when the API server began to wait for its answer, on the monotonic clock; `is_authorized`, whether its
    client may call; `ends_connection`, whether the answer has to be the last one. Call `answered` when the answer is
    written.
    """

    arrived: float
    is_authorized: bool
    ends_connection: bool
    answered: Answered


EXCHANGE = web.RequestKey("exchange", Exchange)
"""The key under which a request holds its exchange."""
