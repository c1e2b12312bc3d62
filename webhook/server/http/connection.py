"""A connection: aiohttp's protocol of HTTP, with deadlines of our own for whoever does not go on."""

from __future__ import annotations

import asyncio
import math
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from aiohttp import web

from webhook.server.errors import BANNER, OverloadedError, RequestError, answer

if TYPE_CHECKING:
    from webhook.server.http.listener import Listener

_AT_ONCE = 0.1
"""Seconds after the handshake within which a first request is the one that the connection was made for."""

_FAREWELL = 3.0
"""Seconds that a client has to take its last answer, at least: longer than the end of TLS may take."""

_UNSENT = 32 * 1024
"""Bytes of answers that may wait unread before their client has to go on; uvloop's own limit for TLS is 512 KiB."""


class Connection(web.RequestHandler):
    """One connection.

    aiohttp closes a connection whose request stops half-way through its header only as an idle one, and one whose
    client does not read never, not even when it means to close it; all of that is watched here. `arrived` is when the
    last request came, and `known` whether its caller may call.
    """

    __slots__ = ("_begun", "_deadline", "_farewell", "_listener", "_made", "_payload", "_wire", "arrived", "known")

    def __init__(self, listener: Listener, begun: float, **options: Any) -> None:
        super().__init__(listener, **options)
        self._listener = listener
        self._payload: Any = None
        self._wire: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._farewell: asyncio.TimerHandle | None = None
        self.known = True
        self.arrived = 0.0
        self._begun = begun
        self._made = 0.0

    @property
    def waiting(self) -> bool:
        """Whether no whole header has come since the last answer."""
        return self._waiter is not None and not self._waiter.done()

    @property
    def parting(self) -> bool:
        """Whether it has given its last answer, and is only closing."""
        return self._farewell is not None

    @property
    def worth(self) -> tuple[bool, bool, bool, float]:
        """What it is worth to keep it, while it is waiting or parting; the least comes first."""
        return self._deadline is None, self._request_count > 0, self.parting, self.used_until

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
        if self.transport is not None:
            self.transport.set_write_buffer_limits(high=_UNSENT)
            self._wire = self.transport
        self.known = self._listener.callers.knows(transport)
        self._listener.opened(self)
        self._made = self._listener.arrival()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The connection is gone."""
        super().connection_lost(exc)
        self._met()
        self._wire = None
        if self._farewell is not None:
            self._farewell.cancel()
        # A refused request's body is read on for a while, so that the client sees the refusal; this one has gone.
        if self._in_body and self._payload.exception() is None:
            self._payload.set_exception(ConnectionResetError("the client has gone"))
        self._listener.lost(self)

    def data_received(self, data: bytes) -> None:
        """Bytes have come. When they end within a header, the rest has to come in time.

        The parser does not tell where a request ended. So the last byte is read on its own: if no request ends with it,
        and it belongs to no body, it belongs to the next header. Line ends before a header are none of it.
        """
        if len(data) > 1:
            self._read(data[:-1])
        ended = self._read(data[-1:])
        if not ended and not self._in_body and self._deadline is None and data.strip(b"\r\n"):
            self._expect(self._listener.header_timeout, "header")

    def _read(self, data: bytes) -> bool:
        """Have bytes parsed: whether a request ended with them."""
        before, in_body = self._request_count, self._in_body
        super().data_received(data)
        if self._request_count == before:
            return in_body and not self._in_body
        self.arrived = self._arrival()
        if self._messages:
            self._payload = self._messages[-1][1]
        if not self.writing_paused:  # who asks for more has not read his answers by that
            self._met()
        return not self._in_body

    @property
    def _in_body(self) -> bool:
        return self._payload is not None and not self._payload.is_eof()

    def _arrival(self) -> float:
        """When the API server's clock for a request began: it dials for it, and the handshake is a part of its wait."""
        arrival = self._listener.arrival()
        at_once = self._request_count == 1 and arrival - self._made < _AT_ONCE
        return self._begun if at_once else arrival

    def give_up(self) -> None:
        """Stop waiting for the rest of a body, and have its request refused."""
        if self._in_body:
            self._payload.set_exception(OverloadedError("closing", "the server stops"))

    def pause_writing(self) -> None:
        """The client does not read its answer: it has to go on in time."""
        super().pause_writing()
        self._met()
        self._expect(self._listener.header_timeout, "unread answer")

    def resume_writing(self) -> None:
        """The client has read on."""
        super().resume_writing()
        self._met()

    async def start(self) -> None:
        """Answer requests until the last one; then the client has to take what is left of the answers in time."""
        await super().start()
        self._part()

    def force_close(self) -> None:
        """Close the connection once its client has taken what is left of the answers, which has to be in time."""
        super().force_close()
        self._part()

    def _part(self) -> None:
        """The transport closes when all is written, and that may be never."""
        if self._farewell is None and self._wire is not None:
            seconds = max(self._listener.header_timeout, _FAREWELL)
            self._farewell = self._loop.call_later(seconds, self.end, "unread answer")

    def end(self, reason: str) -> None:
        """Close the connection at once, for a reason that is counted."""
        self._listener.closed(reason)
        self.abort()

    def abort(self) -> None:
        """Close the connection at once."""
        self.force_close()
        if self._wire is not None:
            self._wire.abort()

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
        """The answer to a request that cannot be read, or that ran into a defect; the connection ends with it."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun") from exc
        if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            refusal = RequestError(HTTPStatus(status), "the request is not HTTP/1.1 as it should be", closes=True)
        else:
            self._listener.failed(exc)
            refusal = RequestError(
                HTTPStatus.INTERNAL_SERVER_ERROR, "internal error; the journal tells more", closes=True
            )
        self._listener.refused(refusal.status)
        response = answer(refusal)
        response.headers.update(BANNER)
        return response
