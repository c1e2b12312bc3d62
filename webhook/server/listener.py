"""A listener: aiohttp's HTTP server, with deadlines of our own and errors that are answered and counted as ours are."""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from aiohttp import web

from webhook.server.callers import Callers
from webhook.server.metrics import Metrics
from webhook.server.refusal import BANNER, RefusalError, ShedError, answer

_LINGER = 2.0
"""Seconds in which the rest of a refused body is read and dropped; closing at once would take the refusal along."""


_AT_ONCE = 0.1
"""Seconds after the handshake within which a first request is the one that the connection was made for."""


class Connection(web.RequestHandler):
    """One connection.

    aiohttp closes a connection whose request stops half-way through its header only as an idle one, and one whose
    client does not read never; both are watched here. `arrived` is when the last request came, and `known` whether its
    caller may call.
    """

    __slots__ = ("_begun", "_deadline", "_listener", "_made", "_payload", "arrived", "known")

    def __init__(self, listener: Listener, begun: float, **options: Any) -> None:
        super().__init__(listener, **options)
        self._listener = listener
        self._payload: Any = None
        self._deadline: asyncio.TimerHandle | None = None
        self.known = True
        self.arrived = 0.0
        self._begun = begun
        self._made = 0.0

    @property
    def waiting(self) -> bool:
        """Whether no whole header has come since the last answer."""
        return self._waiter is not None and not self._waiter.done()

    @property
    def used_until(self) -> float:
        """When its last request was answered, on the loop's clock; infinite while one is open."""
        if self.waiting:
            return self._next_keepalive_close_time - self._keepalive_timeout
        # With its last answer given, it only waits for the client to close TLS in turn.
        return 0.0 if self._task_handler is None or self.transport is None else math.inf

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands; with TLS, after the handshake."""
        super().connection_made(transport)
        self.known = self._listener.callers.knows(transport)
        self._listener.opened(self)
        self._made = self._listener.arrival()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The connection is gone."""
        super().connection_lost(exc)
        self._met()
        # A refused request's body is read on for a while, so that the client sees the refusal; this one has gone.
        if self._payload is not None and not self._payload.is_eof() and self._payload.exception() is None:
            self._payload.set_exception(ConnectionResetError("the client has gone"))
        self._listener.lost(self)

    def data_received(self, data: bytes) -> None:
        """Bytes have come. When they end within a header, the rest has to come in time."""
        before, payload = self._request_count, self._payload
        in_body = payload is not None and not payload.is_eof()
        super().data_received(data)
        if self._request_count != before:
            self.arrived = self._arrival()
            if self._messages:
                self._payload = self._messages[-1][1]
            if self._deadline is not None:
                self._met()
        elif data and not in_body and self._deadline is None:  # aiohttp itself calls with nothing, to go on
            self._expect(self._listener.header_timeout, "header")

    def _arrival(self) -> float:
        """When the API server's clock for a request began: it dials for it, and the handshake is a part of its wait."""
        arrival = self._listener.arrival()
        at_once = self._request_count == 1 and arrival - self._made < _AT_ONCE
        return self._begun if at_once else arrival

    def give_up(self) -> None:
        """Stop waiting for the rest of a body, and have its request refused."""
        if self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(ShedError("closing", "the server stops"))

    def pause_writing(self) -> None:
        """The client does not read its answer: it has to go on in time."""
        super().pause_writing()
        self._met()
        self._expect(self._listener.header_timeout, "unread answer")

    def resume_writing(self) -> None:
        """The client has read on."""
        super().resume_writing()
        self._met()

    def end(self, reason: str) -> None:
        """Close the connection for a reason that is counted."""
        self._listener.closed(reason)
        transport = self.transport
        self.force_close()
        if transport is not None:
            transport.abort()

    def _expect(self, seconds: float, reason: str) -> None:
        self._deadline = self._loop.call_later(seconds, self.end, reason)

    def _met(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = HTTPStatus.INTERNAL_SERVER_ERROR,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - the parser's words, with bytes of the client's
    ) -> web.StreamResponse:
        """The answer to a request that cannot be read; the connection ends with it."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun") from exc
        self._listener.refused(status)
        response = answer(RefusalError(HTTPStatus(status), "the request is not HTTP/1.1 as it should be", closes=True))
        response.headers.update(BANNER)
        return response


class Listener(web.Server):
    """Makes the connections of one handler and keeps them. `changed` is called when one has ended.

    `arrival` tells the time at which the bytes arrived that are being read.
    """

    def __init__(
        self,
        handler: Any,
        metrics: Metrics,
        arrival: Callable[[], float],
        *,
        callers: Callers,
        header_timeout: float,
        **options: Any,
    ) -> None:
        quiet = logging.getLogger("webhook.http")
        super().__init__(
            handler, auto_decompress=False, access_log=None, logger=quiet, lingering_time=_LINGER, **options
        )
        self.arrival = arrival
        self.callers = callers
        self.header_timeout = header_timeout
        self.open: set[Connection] = set()
        self.changed: Callable[[], None] = lambda: None
        self.refused = metrics.refuse
        self.closed = metrics.close

    def connection(self, begun: float) -> Connection:
        """A new connection, whose caller came at this time of the monotonic clock."""
        return Connection(self, begun, loop=self._loop, **self._kwargs)

    def opened(self, connection: Connection) -> None:
        """Keep a connection."""
        self.open.add(connection)

    def lost(self, connection: Connection) -> None:
        """Forget a connection."""
        self.open.discard(connection)
        self.changed()

    def evict(self, count: int) -> None:
        """Close so many of the connections on which no request is open.

        First those that stopped within a header, then those that never sent a request, then the longest idle.
        """
        waiting = (connection for connection in self.open if connection.waiting)
        for connection in heapq.nsmallest(count, waiting, key=_worth):
            connection.end("evicted")

    def give_up(self) -> None:
        """Have every request refused that has not arrived as a whole."""
        for connection in self.open:
            connection.give_up()

    def quiet(self, seconds: float) -> bool:
        """Whether no request is open and none has been for so long."""
        latest = self._loop.time() - seconds
        return all(connection.used_until <= latest for connection in self.open)


def _worth(connection: Connection) -> tuple[bool, bool, float]:
    return connection._deadline is None, connection._request_count > 0, connection.used_until
