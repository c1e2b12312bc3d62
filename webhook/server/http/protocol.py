"""A connection: aiohttp's HTTP protocol behind a guard that knows its state and enforces deadlines.

docs/explanation/connections.md has the diagram of the states."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import cached_property
from time import monotonic
from typing import Any, Protocol, cast

from aiohttp import StreamReader, hdrs, web
from aiohttp.http import RawRequestMessage

from webhook.server.errors import OverloadedError
from webhook.server.http.framing import Framing

_DIALED_FOR_REQUEST = 0.1
"""Seconds after the handshake within which a first request is the one that the client dialed for."""

_UNREAD = 32 * 1024
"""Bytes of answers that may wait for their client before it has to read; uvloop's own limit for TLS is 512 KiB."""

_FRESH = 0.1
"""Seconds after its last bytes within which a connection is never evicted: its request may be under way."""

_STALLED = 1.0
"""Seconds without a byte after which a body counts as stalled, and a connection that has served requests as idle.

The API server does not repeat a request that it sent into a connection which was just being closed
(kubernetes/kubernetes#139105). So a connection in steady use stays.
"""


SMALL = 16 * 1024
"""Bytes of a small body, more than the review of almost any pod. What aiohttp holds of it belongs to its connection."""


@dataclass(slots=True)
class Exchange:
    """What a connection knows about a request that has begun.

    `arrived` is when the API server began to wait for its answer, on the monotonic clock; `is_authorized`, whether its
    client may call; `body`, all of its body where that is small and has arrived, else empty; `ends_connection`, whether
    the answer has to be the last one. Call `answered` when the answer is written, with whether it is the last one.
    """

    arrived: float
    is_authorized: bool
    body: bytes
    ends_connection: bool
    answered: Callable[[bool], None]


EXCHANGE = web.RequestKey("exchange", Exchange)
"""The key under which a request holds its exchange."""


class Owner(Protocol):
    """Who keeps the open connections."""

    def opened(self, connection: GuardedConnection) -> None:
        """Keep a connection whose handshake is over."""

    def settled(self) -> None:
        """Take note that a connection does not carry a request any more."""

    def closed(self, connection: GuardedConnection) -> None:
        """Forget a connection."""


class GuardedConnection(asyncio.Protocol):
    """Forwards to aiohttp's protocol, follows the state of the connection, and closes it at a deadline.

    aiohttp closes a connection whose client stops within a header only as an idle one, and never closes a connection
    whose client stops reading. `make` makes aiohttp's protocol, which nothing would free where a handshake fails.
    `accepted` is when the client dialed, on the monotonic clock.
    """

    __slots__ = (
        "_accepted", "_arrived", "_authorized", "_deadline", "_deadlines", "_established", "_exchange", "_framing",
        "_loop", "_make", "_owner", "_payload", "_terms", "_transport", "_used", "active", "http", "received", "state",
    )  # fmt: skip

    http: asyncio.Protocol
    """aiohttp's protocol, once the connection is open."""

    def __init__(
        self, make: Callable[[], asyncio.Protocol], owner: Owner, terms: ConnectionTerms, accepted: float
    ) -> None:
        self._make = make
        self._owner = owner
        self._terms = terms
        self._deadlines = terms.deadlines
        self._accepted = accepted
        self._loop = asyncio.get_running_loop()
        self._framing = Framing()
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._exchange: Exchange | None = None
        self._payload: StreamReader | None = None
        self._authorized = False
        self._used = False
        self._established = self._arrived = 0.0
        self.active = 0.0
        """When the last bytes of a request arrived or the last answer was written, on the monotonic clock."""
        self.received = 0
        """Bytes that have arrived."""
        self.state = State.IDLE

    @property
    def is_busy(self) -> bool:
        return self.state in (State.BODY, State.ANSWERING, State.UNREAD)

    def eviction_rank(self, now: float) -> int | None:
        """When it is this connection's turn to be evicted, the lowest first; None while it must stay."""
        silence = now - self.active
        match self.state:
            case _ if silence < _FRESH:
                return None
            case State.HEADER:
                return 0
            case State.IDLE if not self._used:
                return 1
            case State.BODY if silence > _STALLED:
                return 2
            case State.IDLE if silence > _STALLED:
                return 3
            case State.CLOSING:
                return 4
        return None

    # What the transport reports.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; with TLS, after the handshake."""
        self.http = self._make()
        self._transport = transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(high=_UNREAD)
        self._authorized = self._terms.is_authorized(transport)
        self._established = self._terms.arrival()
        self.active = monotonic()
        self._owner.opened(self)
        self.http.connection_made(cast(asyncio.Transport, ReportingTransport(transport, self._closing)))

    def data_received(self, data: bytes) -> None:
        """Follow the bytes, and have aiohttp parse those of the current request."""
        framing, state = self._framing, self.state
        self.received += len(data)
        passed = framing.feed(data)
        if state is State.BODY:
            self.active = monotonic()
        elif framing.has_bytes:
            self.active = monotonic()
            self._arrived = self._terms.arrival()
            if state <= State.HEADER:
                self._enter(State.BODY if framing.has_header else State.HEADER)
        if passed:
            self.http.data_received(passed)
        elif self._exchange is not None and framing.is_lost:
            self._exchange.ends_connection = True

    def eof_received(self) -> bool | None:
        """The client has sent its last byte: the transport closes."""
        stays = self.http.eof_received()
        self._closing()
        return stays

    def pause_writing(self) -> None:
        self.http.pause_writing()
        if self.state < State.CLOSING:
            self._enter(State.UNREAD)

    def resume_writing(self) -> None:
        """The client has read enough of its answers."""
        self.http.resume_writing()
        if self.state is State.UNREAD:
            self._advance()

    def connection_lost(self, exc: Exception | None) -> None:
        in_body = self._in_body
        self._enter(State.CLOSED)
        self._framing.end()
        self._transport = None
        self.http.connection_lost(exc)
        # aiohttp reads on for the rest of a refused request's body, so that the client sees the answer. It cannot come.
        if in_body and self._payload is not None and self._payload.exception() is None:
            self._payload.set_exception(ConnectionResetError("the client has gone"))
        self._owner.closed(self)

    # What aiohttp reports.

    def begin(self, message: RawRequestMessage, payload: StreamReader) -> Exchange:
        """A request begins: aiohttp has parsed its header, and is about to call the handler."""
        length = None if message.chunked else int(message.headers.get(hdrs.CONTENT_LENGTH, 0))
        body = self._framing.begin(length)
        self._payload = payload
        is_last = self._framing.is_lost or message.upgrade
        whole = body if length == len(body) <= SMALL else b""
        self._exchange = Exchange(self._began(), self._authorized, whole, is_last, self.answered)
        self._used = True
        if body:
            self.http.data_received(body)
        if self.state < State.CLOSING:
            self._advance()
            if not payload.is_eof():
                payload.on_eof(self._body_arrived)
        return self._exchange

    def answered(self, is_last: bool) -> None:
        """The answer of the request is written, although its body may still be arriving."""
        self.active = monotonic()
        if self._exchange is not None:
            self._exchange.body = b""  # aiohttp keeps the request until the next one
            self._exchange = None
        if is_last:
            self._abandon_body()
        following = self._framing.finish()
        if self.state is State.ANSWERING:
            self._advance()
        if following:
            self.http.data_received(following)
        elif self._framing.is_lost and not is_last:
            self.close()
        self._owner.settled()

    def _abandon_body(self) -> None:
        """Drop what still arrives, which aiohttp would parse. The end of TLS lets the client see the answer."""
        self._framing.end()
        if self._in_body and self._payload is not None:
            self._payload.set_exception(ConnectionAbortedError("the request is answered"))

    def _body_arrived(self) -> None:
        if self.state is State.BODY:
            self._advance()

    def _closing(self) -> None:
        if self.state < State.CLOSING:
            self.active = monotonic()
            self._enter(State.CLOSING)
            self._owner.settled()

    # What the owner wants.

    def refuse_body(self) -> None:
        """Stop waiting for the rest of a body, and have its request refused."""
        if self._in_body and self._payload is not None:
            self._payload.set_exception(OverloadedError("closing", "the server stops"))

    def close(self) -> None:
        """Close the connection when its client has read what was written."""
        if self._transport is not None:
            self._closing()
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once. The transport reports the end of it in a later turn of the loop."""
        if self._transport is not None:
            self._enter(State.CLOSED)
            self._transport.abort()

    def end(self, reason: str) -> None:
        """Close the connection at once, for a reason that is counted."""
        self._terms.count(reason)
        self.abort()

    @property
    def _in_body(self) -> bool:
        return self._payload is not None and not self._payload.is_eof()

    def _began(self) -> float:
        """When the API server began to wait for the answer: where it dials for a request, the handshake counts."""
        is_dialed_for = not self._used and self._arrived - self._established < _DIALED_FOR_REQUEST
        return self._accepted if is_dialed_for else self._arrived

    def _advance(self) -> None:
        """Enter the state that follows from what has arrived and what has been answered."""
        if self._payload is not None and not self._payload.is_eof():
            self._enter(State.BODY)
        elif self._exchange is not None:
            self._enter(State.ANSWERING)
        elif not self._framing.has_bytes:
            self._enter(State.IDLE)
        elif self._framing.has_header:  # aiohttp is about to begin the request
            self._enter(State.BODY)
        else:
            self._enter(State.HEADER)

    def _enter(self, state: State) -> None:
        """Enter a state, and let its deadline begin."""
        if state is self.state:
            return
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self.state = state
        if (deadline := self._deadlines.get(state)) is not None:
            self._deadline = self._loop.call_later(deadline[0], self.end, deadline[1])


class ReportingTransport:
    """Forwards to the transport of a connection, and reports that aiohttp closes it.

    A close waits until the client has read what was written, and that may be never. So it needs a deadline. Methods
    that each request needs are bound beforehand, so that forwarding costs nothing.
    """

    __slots__ = ("_on_close", "_transport", "is_closing", "resume_reading", "write", "writelines")

    def __init__(self, transport: asyncio.Transport, on_close: Callable[[], None]) -> None:
        self._transport = transport
        self._on_close = on_close
        self.is_closing = transport.is_closing
        self.resume_reading = transport.resume_reading
        self.write = transport.write
        self.writelines = transport.writelines

    def close(self) -> None:
        """Report, then close."""
        self._on_close()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


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


@dataclass(frozen=True)
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

    @cached_property
    def deadlines(self) -> Mapping[int, tuple[float, str]]:
        """How many seconds a client may leave a connection in a state, and why it is closed then."""
        return {
            State.HEADER: (self.header_timeout, "header"),
            State.UNREAD: (self.header_timeout, "unread answer"),
            State.CLOSING: (max(self.header_timeout, _CLOSE), "unread answer"),
        }
