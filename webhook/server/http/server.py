"""The HTTP server of a listener: aiohttp's, with guarded connections."""

from __future__ import annotations

import asyncio
import gc
import heapq
import logging
import math
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING, cast

import aiohttp
from aiohttp import StreamReader, hdrs, web
from aiohttp.abc import AbstractAccessLogger, AbstractStreamWriter
from aiohttp.http import RawRequestMessage

from webhook.runtime.exceptions import places, stack
from webhook.server.errors import BANNER, RequestError, answer
from webhook.server.http.protocol import EXCHANGE, ConnectionTerms, GuardedConnection, State
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics

if TYPE_CHECKING:
    from multidict import CIMultiDict


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

_LOGGER = logging.getLogger("webhook.http")
"""What aiohttp logs about requests. It quotes them, so the server counts them instead and drops the records."""

_UNPARSABLE = "UNKNOWN"
"""The method that aiohttp gives to what it cannot parse. No request has it: the parser refuses unknown methods."""

Handler = Callable[[web.BaseRequest], Awaitable[web.Response]]


class UnsupportedAiohttpError(Exception):
    """This version of aiohttp does not take the options that the server depends on."""


class HttpServer:
    """Makes the connections of one handler, and keeps those that are open. Raises UnsupportedAiohttpError."""

    def __init__(
        self, handler: Handler, terms: ConnectionTerms, keep_alive: float, log: EventLog, metrics: Metrics
    ) -> None:
        self.terms = terms
        self._handler = handler
        self._log = log
        self._metrics = metrics
        _LOGGER.setLevel(logging.DEBUG)
        _LOGGER.addFilter(_drop)
        self._server = web.Server(
            self._handle,
            request_factory=self._begin,
            auto_decompress=False,
            access_log=_LOGGER,
            access_log_class=_AnswerReporter,
            logger=_LOGGER,
            lingering_time=_LINGER,
            read_bufsize=_BUFFERED,
            keepalive_timeout=keep_alive,
        )
        self._verify(keep_alive)
        self._loop = asyncio.get_running_loop()
        self._connections: dict[asyncio.Protocol, GuardedConnection] = {}
        self._changed = asyncio.Event()
        self._garbage = 0
        self.on_opened: Callable[[GuardedConnection], None] = lambda _: None
        """Called whenever the handshake of a connection is over."""
        self.on_closed: Callable[[], None] = lambda: None
        """Called whenever a connection has closed."""

    def __len__(self) -> int:
        return len(self._connections)

    def connection(self, accepted: float) -> GuardedConnection:
        """A new connection, whose client dialed at this time of the monotonic clock."""
        return GuardedConnection(self._server, self, self.terms, accepted)

    # What the connections report.

    def opened(self, connection: GuardedConnection) -> None:
        self._connections[connection.http] = connection
        self.on_opened(connection)

    def settled(self) -> None:
        self._changed.set()

    def closed(self, connection: GuardedConnection) -> None:
        self._connections.pop(connection.http, None)
        self._changed.set()
        self.on_closed()
        self._collect(connection)

    # What the server wants of them.

    def evict(self, count: int) -> None:
        """Close at most this many connections, all of the lowest rank there is, beginning with the longest inactive.

        Those that are aborted already count, although their transports report the end of it only in a later turn.
        """
        count -= sum(connection.state is State.CLOSED for connection in self._connections.values())
        now = self.terms.arrival()  # while the loop was late, bytes lay unread
        ranks: dict[int, list[GuardedConnection]] = defaultdict(list)
        for connection in self._connections.values():
            if (rank := connection.eviction_rank(now)) is not None:
                ranks[rank].append(connection)
        if ranks and count > 0:
            for connection in heapq.nsmallest(count, ranks[min(ranks)], key=attrgetter("active")):
                connection.end("evicted")

    def refuse_bodies(self) -> None:
        for connection in self._connections.values():
            connection.refuse_body()

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
                for connection in list(self._connections.values()):
                    connection.close()
                await self._empty()
        for connection in list(self._connections.values()):
            connection.abort()
        with suppress(TimeoutError):
            async with asyncio.timeout(_ABORT):
                await self._empty()

    def _last_active(self) -> float:
        connections = [one for one in self._connections.values() if one.state < State.CLOSING]
        return max((math.inf if one.is_busy else one.active for one in connections), default=-math.inf)

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
        """Make the request whose header aiohttp has parsed, or that it is about to refuse."""
        exchange = self._connections[protocol].begin(message, payload)
        if message.method == _UNPARSABLE:
            self._metrics.refuse(HTTPStatus.BAD_REQUEST)
            writer = RefusalWriter(writer)
        return web.BaseRequest(message, payload, protocol, writer, task, self._loop, state={EXCHANGE: exchange})

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        try:
            response = await self._handler(request)
        except Exception as error:
            response = self._internal_error(error)
        if request[EXCHANGE].ends_connection:
            response.force_close()
        response.headers[hdrs.SERVER] = BANNER
        return response

    def _internal_error(self, error: Exception) -> web.Response:
        """Log and count a defect, without its message: that may quote a tenant's object."""
        self._log.event("error", "internal error", error=places(error), stack=stack(error))
        refused = RequestError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error; see the webhook's log", closes=True)
        self._metrics.refuse(refused.status)
        return answer(refused)

    def _verify(self, keep_alive: float) -> None:
        """See that aiohttp took the options: where it knows one of them not, it drops all of them."""
        protocol = self._server()
        if protocol.logger is not _LOGGER or protocol.keepalive_timeout != keep_alive:
            raise UnsupportedAiohttpError(
                f"aiohttp {aiohttp.__version__} does not take the options of the HTTP server; install a version that "
                "pyproject.toml allows"
            )


def _drop(record: logging.LogRecord) -> bool:
    """Drop a record, and the frames of its exception.

    aiohttp keeps the exception with the request, and the frames keep both, with the bytes that arrived: a cycle that
    would outlive the connection until garbage is collected.
    """
    if record.exc_info is not None and record.exc_info[1] is not None:
        record.exc_info[1].__traceback__ = None
    return False


class _AnswerReporter(AbstractAccessLogger):
    """Reports each answer to its connection when it is written: where aiohttp would log it."""

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:  # noqa: ARG002
        request[EXCHANGE].answered(not response.keep_alive)


class RefusalWriter(AbstractStreamWriter):
    """Sends a Status instead of the text with which aiohttp answers a request that it cannot parse.

    That text quotes the request, and its headers name the versions of aiohttp and Python.
    """

    def __init__(self, writer: AbstractStreamWriter) -> None:
        self._writer = writer
        refused = answer(RequestError(HTTPStatus.BAD_REQUEST, "the request is not valid HTTP/1.1"))
        self._body = cast(bytes, refused.body)

    async def write_headers(self, status_line: str, headers: CIMultiDict[str]) -> None:
        headers[hdrs.SERVER] = BANNER
        headers["Content-Type"] = "application/json"
        headers["Content-Length"] = str(len(self._body))
        await self._writer.write_headers(status_line, headers)

    async def write_eof(self, chunk: bytes = b"") -> None:  # noqa: ARG002 - aiohttp's text
        await self._writer.write_eof(self._body)

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """Drop a part of aiohttp's text."""

    async def drain(self) -> None:
        """Wait until the client has read enough."""
        await self._writer.drain()

    def enable_compression(self, encoding: str = "deflate", strategy: int | None = None) -> None:
        """Send the Status as it is."""

    def enable_chunking(self) -> None:
        """Send the Status as a whole."""
