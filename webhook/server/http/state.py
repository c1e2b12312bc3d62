"""The states of a connection, and how long a client may leave it in each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, auto

_CLOSE = 3.0
"""Seconds that a client has to read its last answer, at least: longer than the end of TLS may take."""


class State(IntEnum):
    """What a connection waits for."""

    IDLE = auto()
    """The first byte of a request. aiohttp closes the connection after `keepAlive`."""

    HEADER = auto()
    """The rest of a header, for `headerTimeout`."""

    BODY = auto()
    """The rest of a body. The handler refuses the request after `bodyTimeout` or half of its own timeout."""

    ANSWERING = auto()
    """The answer."""

    UNREAD = auto()
    """The client, which has to read its answers, for `headerTimeout`."""

    CLOSING = auto()
    """The client, which has to read its last answer and to close TLS in turn."""

    CLOSED = auto()
    """Nothing."""


@dataclass(frozen=True, slots=True)
class ConnectionTerms:
    """What holds for all connections of a listener.

    `arrival` returns when bytes that are being read arrived, at the earliest, on the monotonic clock. `is_authorized`
    returns whether the client of a connection may call. `count` counts a connection that is closed on its client, by
    reason.
    """

    header_timeout: float
    arrival: Callable[[], float]
    is_authorized: Callable[[asyncio.BaseTransport], bool]
    count: Callable[[str], None]
    deadlines: Mapping[int, tuple[float, str]] = field(init=False)
    """How many seconds a client may leave a connection in a state, and why it is closed then."""

    def __post_init__(self) -> None:
        deadlines = {
            State.HEADER: (self.header_timeout, "header"),
            State.UNREAD: (self.header_timeout, "unread answer"),
            State.CLOSING: (max(self.header_timeout, _CLOSE), "unread answer"),
        }
        object.__setattr__(self, "deadlines", deadlines)
