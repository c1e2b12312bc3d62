"""The HTTP server of a listener: aiohttp's, with guarded connections."""

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
from webhook.server.errors import BANNER, OverloadedError, RequestError, answer
from webhook.server.http.protocol import EXCHANGE, ConnectionTerms, GuardedConnection, State
from webhook.server.http.slots import Slots
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics

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

Handler = Callable[[web.BaseRequest], Awaitable[web.Response]]


class HttpServer:
    """Makes the connections of one handler, and keeps those that are open."""

    def __init__(
        self, handler: Handler, slots: Slots, terms: ConnectionTerms, keep_alive: float, log: EventLog, metrics: Metrics
    ) -> None:
        self.slots = slots
        self.terms = terms
        self._handler = handler
        self._log = log
        self._metrics = metrics
        self.protocol: Callable[[], asyncio.Protocol] = web.Server(
            self._handle,
            request_factory=self._begin,
            access_log=_UNWRITTEN,
            access_log_class=_AnswerReporter,
            logger=_UNWRITTEN,
            auto_decompress=False,
            lingering_time=_LINGER,
            read_bufsize=_BUFFERED,
            keepalive_timeout=keep_alive,
        )
        self._connections: dict[GuardedConnection, None] = {}
        self._changed = asyncio.Event()
        self._garbage = 0

    def opened(self, connection: GuardedConnection, is_certified: bool) -> None:
        self._connections[connection] = None
        if is_certified:
            self.slots.prove(connection)

    def settled(self) -> None:
        self._changed.set()

    def closed(self, connection: GuardedConnection) -> None:
        self._connections.pop(connection, None)
        self._changed.set()
        self.slots.leave(connection)
        self._collect(connection)

    # What the server wants of them.

    def refuse_bodies(self) -> None:
        for connection in self._connections:
            connection.end_body(OverloadedError("closing", "the server stops"))

    async def quiet(self, seconds: float) -> None:
        """Wait until no request is open and none has been for this long."""
        while (left := self._last_active() + seconds - monotonic()) > 0:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if left == math.inf else left):
                    await self._changed.wait()

    async def close(self, seconds: float) -> None:
        """Close all connections. A client has this long to be answered and to read its answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.quiet(0)
                for connection in list(self._connections):
                    connection.close()
                await self._empty()
        for connection in list(self._connections):
            connection.abort()
        with suppress(TimeoutError):
            async with asyncio.timeout(_ABORT):
                await self._empty()

    def _last_active(self) -> float:
        connections = [one for one in self._connections if one.state < State.CLOSING]
        return max((math.inf if one.state >= State.BODY else one.active for one in connections), default=-math.inf)

    def _collect(self, ended: GuardedConnection) -> None:
        """Collect garbage before connections have left much of it.

        aiohttp keeps a request that it has not begun, or cannot parse, in cycles with what arrived. The collector
        counts objects, of which a connection leaves a few dozen, and not their bytes.
        """
        self._garbage += min(ended.received, _OF_ONE)
        if self._garbage > _GARBAGE:
            self._garbage = 0
            gc.collect()

    async def _empty(self) -> None:
        while self._connections:
            self._changed.clear()
            await self._changed.wait()

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
        connection = cast(GuardedConnection, protocol.transport)
        exchange = connection.begin(message, payload)
        if message.method == _UNPARSABLE:
            self._metrics.refuse(HTTPStatus.BAD_REQUEST)
            connection.write(_refusal())
            connection.close()  # before aiohttp answers, which would quote the request
        return web.BaseRequest(message, payload, protocol, writer, task, task.get_loop(), state={EXCHANGE: exchange})

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        try:
            response = await self._handler(request)
        except Exception as error:  # a defect; its message may quote a tenant's object
            self._log.event("error", "internal error", error=places(error), stack=stack(error))
            self._metrics.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
            message = "internal error; see the webhook's log"
            response = answer(RequestError(HTTPStatus.INTERNAL_SERVER_ERROR, message, closes=True))
        exchange = request[EXCHANGE]
        # A review that could be answered has proven its connection.
        is_kept = self.slots.keeps and (response.status != HTTPStatus.OK or self.slots.prove(exchange.connection))
        if exchange.ends_connection or not is_kept:
            response.force_close()
        response.headers[hdrs.SERVER] = BANNER
        return response


def _refusal() -> bytes:
    """The answer to what aiohttp cannot parse: the only error that does not reach the handler."""
    refused = answer(RequestError(HTTPStatus.BAD_REQUEST, "the request is not valid HTTP/1.1"))
    refused.headers.update({hdrs.CONTENT_LENGTH: str(refused.content_length), hdrs.DATE: formatdate(usegmt=True)})
    fields = "".join(f"{name}: {text}\r\n" for name, text in refused.headers.items())
    return f"HTTP/1.0 400 Bad Request\r\n{fields}\r\n".encode() + cast(bytes, refused.body)


class _AnswerReporter(AbstractAccessLogger):
    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:  # noqa: ARG002
        """Report that an answer is written: where aiohttp would log it."""
        request[EXCHANGE].connection.answered(not response.keep_alive)


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
