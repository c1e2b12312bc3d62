"""The HTTP server of a listener: aiohttp's protocol behind a guard that knows its state and enforces deadlines.

docs/explanation/connections.md has the diagram of the states."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from time import monotonic
from typing import cast

from aiohttp import StreamReader, hdrs, web
from aiohttp.abc import AbstractAccessLogger, AbstractStreamWriter
from aiohttp.http import RawRequestMessage

from webhook.runtime.exceptions import places, stack
from webhook.runtime.retry import wait_for_event, within
from webhook.server.errors import OverloadedError, RequestError, answer
from webhook.server.http.framing import Framing
from webhook.server.http.slots import Slots, State
from webhook.server.log import EventLog
from webhook.server.metrics import Metrics
from webhook.settings.configuration import ServerSettings

_LINGER = 2.0
"""Seconds in which the rest of a refused body is read and dropped; closing at once would discard the answer."""

_BUFFERED = 64 * 1024
"""Bytes of a body that aiohttp buffers before it pauses; it parses up to a sixteenth as many chunks at a stretch."""

_ABORT = 0.1
"""Seconds that the loop may take to report the end of aborted connections."""

_GARBAGE = 8 * 2**20
"""Bytes that ended connections have received after which garbage is collected; that takes a few milliseconds."""

_OF_ONE = 2**20
"""Bytes of one connection that count: it leaves its last read, not all that it has carried."""

_UNPARSABLE = "UNKNOWN"
"""The method that aiohttp gives to what it cannot parse. No request has it: the parser refuses unknown methods."""

_DIALED_FOR_REQUEST = 0.1
"""Seconds after the handshake within which a first request is the one that the client dialed for."""

_UNREAD = 32 * 1024
"""Bytes of answers that may wait for their client before it has to read; uvloop's own limit for TLS is 512 KiB."""


SMALL = 16 * 1024
"""Bytes of a small body, more than the review of almost any pod. What aiohttp holds of it belongs to its connection."""

_CLOSE = 3.0
"""Seconds that a client has to read its last answer, at least: longer than the end of TLS may take."""

_BANNER = "gpushare-webhook"
"""The value of the header `Server` of every response. It does not name the version."""


class HttpServer:
    """Makes the connections of one handler, and keeps those that are open.

    `subjects` are the common names of the client certificates that may call; without them every client may. `arrival`
    returns when bytes that are being read arrived, at the earliest, on the monotonic clock.
    """

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.Response]],
        slots: Slots,
        settings: ServerSettings,
        subjects: frozenset[str],
        arrival: Callable[[], float],
        log: EventLog,
        metrics: Metrics,
    ) -> None:
        self.slots = slots
        self.subjects = subjects
        self.arrival = arrival
        self.ended = metrics.closed
        """The connections that are closed on their clients, by reason."""
        self.header_timeout = seconds = settings.header_timeout
        self.deadlines = {
            State.HEADER: (seconds, "header"),
            State.UNREAD: (seconds, "unread answer"),
            State.CLOSING: (max(seconds, _CLOSE), "unread answer"),
        }
        """How many seconds a client may leave a connection in a state, and why it is closed then."""
        self._handler = handler
        self.log = log
        self._metrics = metrics
        self.protocol = web.Server(
            self._handle,
            request_factory=self._begin,
            access_log=_UNWRITTEN,
            access_log_class=_AnswerReporter,
            logger=_UNWRITTEN,
            auto_decompress=False,
            lingering_time=_LINGER,
            read_bufsize=_BUFFERED,
            keepalive_timeout=settings.keep_alive,
        )
        self.connections: dict[GuardedConnection, None] = {}
        """Those that are open."""
        self.changed = asyncio.Event()
        """Set whenever a request, a handshake or a connection has ended."""
        self._garbage = 0

    def closed(self, connection: GuardedConnection) -> None:
        """Forget a connection, and collect garbage before connections have left much of it.

        aiohttp keeps a request that it has not begun, or cannot parse, in cycles with what arrived. The collector
        counts objects, of which a connection leaves a few dozen, and not their bytes.
        """
        self.connections.pop(connection, None)
        self.changed.set()
        self.slots.leave(connection)
        self._garbage += min(connection.received, _OF_ONE)
        if self._garbage > _GARBAGE:
            self._garbage = 0
            gc.collect()

    # What the server wants of them.

    def refuse_bodies(self) -> None:
        for connection in self.connections:
            connection.end_body(OverloadedError("closing", "the server stops"))

    async def quiet(self, seconds: float) -> None:
        """Wait until no request is open and none has been for this long."""
        while True:
            times = (
                math.inf if one.state >= State.BODY else one.active
                for one in self.connections
                if one.state < State.CLOSING
            )
            if (left := max(times, default=-math.inf) + seconds - monotonic()) <= 0:
                return
            self.changed.clear()
            await wait_for_event(self.changed, None if left == math.inf else left)

    async def close(self, seconds: float) -> None:
        """Close all connections. A client has this long to be answered and to read its answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.quiet(0)
                for connection in list(self.connections):
                    connection.close()
                await self.until(lambda: not self.connections)
        for connection in list(self.connections):
            connection.abort()
        await within(_ABORT, self.until(lambda: not self.connections))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds that depends on requests, handshakes and connections."""
        while not condition():
            self.changed.clear()
            await self.changed.wait()

    # What aiohttp calls.

    def _begin(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        """Make the request whose header aiohttp has parsed, or answer one that it cannot parse."""
        connection: GuardedConnection = protocol.transport  # type: ignore[assignment]  # it stands for one
        connection.begin(message, payload)
        if message.method == _UNPARSABLE:
            self._metrics.refused.labels(HTTPStatus.BAD_REQUEST).inc()
            # The only error that does not reach the handler.
            refused = answer(RequestError(HTTPStatus.BAD_REQUEST, "the request is not valid HTTP/1.1"))
            length, date = str(refused.content_length), formatdate(usegmt=True)
            refused.headers.update({hdrs.SERVER: _BANNER, hdrs.CONTENT_LENGTH: length, hdrs.DATE: date})
            fields = "".join(f"{name}: {text}\r\n" for name, text in refused.headers.items())
            connection.write(f"HTTP/1.0 400 Bad Request\r\n{fields}\r\n".encode() + cast(bytes, refused.body))
            connection.close()  # before aiohttp answers, which would quote the request
        return web.BaseRequest(
            message, payload, protocol, writer, task, task.get_loop(), state={CONNECTION: connection}
        )

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        try:
            response = await self._handler(request)
        except Exception as error:  # a defect; its message may quote a tenant's object
            self.log.event("error", "internal error", error=places(error), stack=stack(error))
            self._metrics.refused.labels(HTTPStatus.INTERNAL_SERVER_ERROR).inc()
            message = "internal error; see the webhook's log"
            response = answer(RequestError(HTTPStatus.INTERNAL_SERVER_ERROR, message, closes=True))
        connection = request[CONNECTION]
        # A review that could be answered has proven its connection.
        is_kept = self.slots.keeps and (response.status != HTTPStatus.OK or self.slots.prove(connection))
        if connection.is_last or not is_kept:
            response.force_close()
        response.headers[hdrs.SERVER] = _BANNER
        return response


class GuardedConnection(asyncio.Protocol):
    """Stands between a transport and aiohttp's protocol, and closes the connection at a deadline.

    aiohttp closes a connection whose client stops within a header only as an idle one, and never closes a connection
    whose client stops reading. aiohttp has the guard for a transport, so that the guard learns when it closes the
    connection. `accepted` is when the client dialed, on the monotonic clock.
    """

    http: asyncio.Protocol
    """aiohttp's protocol, once the connection is open."""

    def __init__(self, server: HttpServer, source: str, accepted: float) -> None:
        self._server = server
        self._accepted = accepted
        self.source = source
        self._framing = Framing()
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._payload: StreamReader | None = None
        self.is_authorized = False
        """Whether its client may call."""
        self.arrived = 0.0
        """When the API server began to wait for the answer of the request, on the monotonic clock."""
        self.body = b""
        """All of the request's body where that is small and has arrived, else empty."""
        self._is_open = self._is_upgrade = self._used = False
        self._established = self._received = 0.0
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

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # all of TCP are these
        """Begin; with TLS, after the handshake."""
        self.http = self._server.protocol()  # not before: nothing would free it where a handshake fails
        self._transport = transport
        self.write, self.writelines, self.is_closing = transport.write, transport.writelines, transport.is_closing
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading
        self.get_extra_info = transport.get_extra_info
        transport.set_write_buffer_limits(high=_UNREAD)
        certificate, subjects = transport.get_extra_info("peercert") or {}, self._server.subjects
        names = {value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"}
        self.is_authorized = not subjects or not names.isdisjoint(subjects)
        self._established = self._server.arrival()
        self.active = monotonic()
        self._server.connections[self] = None
        if certificate and self.is_authorized:  # which TLS has verified
            self._server.slots.prove(self)
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
            self._received = self._server.arrival()
            if state <= State.HEADER:
                self._enter(State.BODY if framing.has_header else State.HEADER)
        if passed:
            self.http.data_received(passed)

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
        self._server.closed(self)
        self._payload = None
        del self.http  # both keep this connection

    # What aiohttp reports.

    def begin(self, message: RawRequestMessage, payload: StreamReader) -> None:
        """A request begins: aiohttp has parsed its header, and is about to call the handler."""
        length = None if message.chunked else int(message.headers.get(hdrs.CONTENT_LENGTH, 0))
        body = self._framing.begin(length)
        self._payload = payload
        self.body = body if length == len(body) <= SMALL else b""
        # Where the API server dials for a request, it waits since then.
        dials = not self._used and self._received - self._established < _DIALED_FOR_REQUEST
        self.arrived = self._accepted if dials else self._received
        self._is_upgrade = message.upgrade
        self._is_open = self._used = True
        if body:
            self.http.data_received(body)
        if self.state < State.CLOSING:
            self._advance()
            if not payload.is_eof():
                payload.on_eof(self._body_arrived)

    @property
    def is_last(self) -> bool:
        """Whether the answer of the request has to be the last one."""
        return self._is_upgrade or self._framing.is_lost

    def answered(self, closes: bool) -> None:
        """The answer of the request is written, although its body may still be arriving."""
        self.active = monotonic()
        self._is_open = False
        self.body = b""  # which is not needed until the next request
        if closes:  # aiohttp would parse the rest; the end of TLS lets the client see the answer
            self._framing.end()
            self.end_body(ConnectionAbortedError("the request is answered"))
        following = self._framing.finish()
        if self.state is State.ANSWERING:
            self._advance()
        if following:
            self.http.data_received(following)
        elif self._framing.is_lost and not closes:
            self.close()
        self._server.changed.set()

    def _body_arrived(self) -> None:
        if self.state is State.BODY:
            self._advance()

    def _closing(self) -> None:
        """The transport closes once the client has read its last answer, which needs a deadline: that may be never."""
        if self.state < State.CLOSING:
            self.active = monotonic()
            self._enter(State.CLOSING)
            self._server.changed.set()

    # What the server wants.

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
        self._server.ended.labels(reason).inc()
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
        elif self._is_open:
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
        if (deadline := self._server.deadlines.get(state)) is not None:
            self._deadline = asyncio.get_running_loop().call_later(deadline[0], self.end, deadline[1])


CONNECTION = web.RequestKey("connection", GuardedConnection)
"""The key under which a request holds its connection."""


class _AnswerReporter(AbstractAccessLogger):
    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:  # noqa: ARG002
        """Report that an answer is written: where aiohttp would log it."""
        request[CONNECTION].answered(not response.keep_alive)


def _drop(record: logging.LogRecord) -> bool:
    """Drop a record, and the frames of its exception.

    aiohttp keeps the exception with the request, and the frames keep both: a cycle.
    """
    if record.exc_info is not None and record.exc_info[1] is not None:
        record.exc_info[1].__traceback__ = None
    return False


_UNWRITTEN = logging.Logger("aiohttp")
"""What aiohttp logs: nothing is written, since it quotes what a client sent."""
_UNWRITTEN.addFilter(_drop)
