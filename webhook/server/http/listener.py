"""A listener: aiohttp's HTTP server, with connections of our own."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from aiohttp import web

from webhook.runtime.exceptions import places, stack
from webhook.runtime.retry import delay
from webhook.server.client_auth import ClientAuth
from webhook.server.http.connection import Connection
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics

_LINGER = 2.0
"""Seconds in which the rest of a refused body is read and dropped; closing at once would take the refusal along."""

_LOOK = 0.01
"""Seconds between two looks at what is not over yet."""

_LAST_TURNS = 0.1
"""Seconds that the loop may take to tell connections that they are over."""


class Listener(web.Server):
    """Makes the connections of one handler and keeps them. `changed` is called when one has ended.

    `arrival` tells the time at which the bytes arrived that are being read.
    """

    def __init__(
        self,
        handler: Any,
        metrics: Metrics,
        log: EventLog,
        arrival: Callable[[], float],
        *,
        callers: ClientAuth,
        header_timeout: float,
        **options: Any,
    ) -> None:
        quiet = logging.getLogger("webhook.http")
        super().__init__(
            handler, auto_decompress=False, access_log=None, logger=quiet, lingering_time=_LINGER, **options
        )
        self._log = log
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

    def failed(self, error: BaseException | None) -> None:
        """Log an internal error of a request, without messages: they may quote a tenant's object."""
        failure = error or TimeoutError()
        self._log.event("error", "internal error", error=places(failure), stack=stack(failure))

    def opened(self, connection: Connection) -> None:
        """Keep a connection."""
        self.open.add(connection)

    def lost(self, connection: Connection) -> None:
        """Forget a connection."""
        self.open.discard(connection)
        self.changed()

    def evict(self, count: int) -> None:
        """Close so many of the connections on which no request is open.

        First those that stopped within a header, then those that never sent a request, then the longest idle, then
        those whose clients have not taken their last answer yet.
        """
        idle = (connection for connection in self.open if connection.waiting or connection.parting)
        for connection in heapq.nsmallest(count, idle, key=attrgetter("worth")):
            connection.end("evicted")

    def give_up(self) -> None:
        """Have every request refused that has not arrived as a whole."""
        for connection in self.open:
            connection.give_up()

    async def close(self, seconds: float) -> None:
        """End all connections; for so long those go on that are being answered, or that take their last answer."""
        end = self._loop.time() + seconds
        await self._until(lambda: self.quiet(0), end)
        for connection in list(self.open):
            connection.force_close()
        await self._until(lambda: not self.open, end)
        for connection in list(self.open):
            connection.abort()
        await self._until(lambda: not self.open, self._loop.time() + _LAST_TURNS)

    async def _until(self, condition: Callable[[], bool], end: float) -> None:
        while not condition() and self._loop.time() < end:  # that all is quiet is told by no event
            await delay(_LOOK)

    def quiet(self, seconds: float) -> bool:
        """Whether no request is open and none has been for so long."""
        latest = self._loop.time() - seconds
        return all(connection.used_until <= latest for connection in self.open)
