"""A connection: aiohttp's HTTP protocol behind a guard that knows its state and enforces deadlines.

docs/explanation/connections.md has the diagram of the states."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import cached_property
from time import monotonic
from typing import Protocol, cast

from aiohttp import StreamReader, hdrs, web
from aiohttp.http import RawRequestMessage

from webhook.server.http.framing import Framing

_DIALED_FOR_REQUEST = 0.1
"""Seconds after the handshake within which a first request is the one that the client dialed for."""

_UNREAD = 32 * 1024
"""Bytes of answers that may wait for their client before it has to read; uvloop's own limit for TLS is 512 KiB."""


SMALL = 16 * 1024
"""Bytes of a small body, more than the review of almost any pod. What aiohttp holds of it belongs to its connection."""


@dataclass(slots=True)
class Exchange:
    """What a connection knows about a request that has begun.

    `arrived` is when the API server began to wait for its answer, on the monotonic clock; `body`, all of its body where
    that is small and has arrived, else empty; `ends_connection`, whether the answer has to be the last one.
    """

    connection: GuardedConnection
    arrived: float
    body: bytes
    ends_connection: bool


EXCHANGE = web.RequestKey("exchange", Exchange)
"""The key under which a request holds its exchange."""


class Owner(Protocol):
    """Keeps the open connections."""

    terms: ConnectionTerms

    protocol: Callable[[], asyncio.Protocol]
    """Makes aiohttp's protocol."""

    def opened(self, connection: GuardedConnection, is_certified: bool) -> None:
        """Keep a connection whose handshake is over, and whether TLS has verified a certificate of its client."""

    def settled(self) -> None:
        """Take note that a connection does not carry a request any more."""

    def closed(self, connection: GuardedConnection) -> None:
        """Forget a connection."""


class GuardedConnection(asyncio.Protocol):
    """Stands between a transport and aiohttp's protocol, and closes the connection at a deadline.

    aiohttp closes a connection whose client stops within a header only as an idle one, and never closes a connection
    whose client stops reading. aiohttp has the guard for a transport, so that the guard learns when it closes the
    connection. `accepted` is when the client dialed, on the monotonic clock.
    """

    http: asyncio.Protocol
    """aiohttp's protocol, once the connection is open."""

    def __init__(self, owner: Owner, source: str, accepted: float) -> None:
        self._owner = owner
        self._terms = owner.terms
        self._accepted = accepted
        self.source = source
        self._framing = Framing()
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._exchange: Exchange | None = None
        self._payload: StreamReader | None = None
        self.is_authorized = False
        """Whether its client may call."""
        self._used = False
        self._established = self._arrived = 0.0
        self.abandon: Callable[[], object] | None = None
        """Ends the handshake, while there is one."""
        self.began = monotonic()
        """When the handshake began, on the monotonic clock."""
        self.active = 0.0
        """When the last bytes of a request arrived or the last answer was written, on the monotonic clock."""
        self.received = 0
        """Bytes that have arrived."""
        self.state = State.IDLE

    # What the transport reports.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; with TLS, after the handshake."""
        self.http = self._owner.protocol()  # not before: nothing would free it where a handshake fails
        self._transport = transport = cast(asyncio.Transport, transport)
        self.write, self.writelines, self.is_closing = transport.write, transport.writelines, transport.is_closing
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading
        self.get_extra_info = transport.get_extra_info
        transport.set_write_buffer_limits(high=_UNREAD)
        self.is_authorized = self._terms.is_authorized(transport)
        self._established = self._terms.arrival()
        self.active = monotonic()
        self._owner.opened(self, self.is_authorized and bool(transport.get_extra_info("peercert")))
        self.http.connection_made(cast(asyncio.Transport, self))
        if self.state is State.CLOSED:  # evicted in the turn in which the handshake ended
            transport.abort()

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
                self._advance()
        if passed:
            self.http.data_received(passed)
        elif self._exchange is not None and framing.is_lost:
            self._exchange.ends_connection = True

    def eof_received(self) -> None:
        """The client has sent its last byte: the transport closes."""
        self._closing()

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
        self._enter(State.CLOSED)
        self._framing.end()
        self._transport = None
        self.http.connection_lost(exc)
        # aiohttp reads on for the rest of a refused request's body, so that the client sees the answer. It cannot come.
        self.end_body(ConnectionResetError("the client has gone"))
        self._owner.closed(self)
        self._payload = None
        del self.http  # both keep this connection

    # What aiohttp reports.

    def begin(self, message: RawRequestMessage, payload: StreamReader) -> Exchange:
        """A request begins: aiohttp has parsed its header, and is about to call the handler."""
        length = None if message.chunked else int(message.headers.get(hdrs.CONTENT_LENGTH, 0))
        body = self._framing.begin(length)
        self._payload = payload
        is_last = self._framing.is_lost or message.upgrade
        whole = body if length == len(body) <= SMALL else b""
        # Where the API server dials for a request, it waits since then.
        dials = not self._used and self._arrived - self._established < _DIALED_FOR_REQUEST
        arrived = self._accepted if dials else self._arrived
        self._exchange = Exchange(self, arrived, whole, is_last)
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
        if is_last:  # aiohttp would parse the rest; the end of TLS lets the client see the answer
            self._framing.end()
            self.end_body(ConnectionAbortedError("the request is answered"))
        following = self._framing.finish()
        if self.state is State.ANSWERING:
            self._advance()
        if following:
            self.http.data_received(following)
        elif self._framing.is_lost and not is_last:
            self.close()
        self._owner.settled()

    def _body_arrived(self) -> None:
        if self.state is State.BODY:
            self._advance()

    def _closing(self) -> None:
        """The transport closes once the client has read its last answer, which needs a deadline: that may be never."""
        if self.state < State.CLOSING:
            self.active = monotonic()
            self._enter(State.CLOSING)
            self._owner.settled()

    # What the owner wants.

    def end_body(self, error: Exception) -> None:
        """Stop waiting for the rest of a body, if there is more."""
        if self._payload is not None and self._in_body and self._payload.exception() is None:
            self._payload.set_exception(error)

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
        """Close the connection, or end its handshake, at once, for a reason that is counted."""
        self._terms.count(reason)
        if self._transport is None:
            self.state = State.CLOSED
            if self.abandon is not None:
                self.abandon()
        self.abort()

    @property
    def _in_body(self) -> bool:
        return self._payload is not None and not self._payload.is_eof()

    def _advance(self) -> None:
        """Enter the state that follows from what has arrived and what has been answered."""
        if self._in_body:
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
        if (deadline := self._terms.deadlines.get(state)) is not None:
            self._deadline = asyncio.get_running_loop().call_later(deadline[0], self.end, deadline[1])


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
