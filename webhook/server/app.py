"""The server's life: start up, serve until a signal, drain, shut down."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial

from webhook.diagnostics import InputError
from webhook.policy.placement.facts import Facts
from webhook.runtime.retry import within
from webhook.server import limits
from webhook.server.http.acceptor import Acceptor
from webhook.server.http.server import HttpServer
from webhook.server.http.slots import Slots
from webhook.server.lifecycle import Health, Lifecycle, Phase, Supervisor, log_readiness
from webhook.server.limits import Bounds
from webhook.server.live_config import File, LiveConfig
from webhook.server.log import Bridge, EventLog
from webhook.server.metrics import Metrics
from webhook.server.reload import Reload
from webhook.server.reviews import Reviews
from webhook.server.tls import Credentials
from webhook.server.watchdog import LoopWatchdog
from webhook.settings.configuration import Configuration

_HEALTH_CONNECTIONS = 128
"""Connections of the health listener."""

_QUIET = 1.0
"""Seconds without a request on any connection after which the API server is taken to use other replicas."""

_HANDSHAKE_TIME = 1.0
"""Seconds that the clients of the backlog have for their handshakes."""

_REFUSING = 0.2
"""The share of `drainTimeout` in which what is still open is refused."""

_LAST_ANSWERS = 1.0
"""Seconds that clients have to read their last answers."""


class Server:
    """The webhook: reviews over HTTPS, health and metrics over HTTP. Raises InputError.

    `settings_file` and `facts_file` are what the settings and facts were read from, if they can be read again.
    `supervisor` runs what keeps the server up to date. `requirements` are the conditions of readiness, by name, and
    `details` what `/readyz?verbose` reports besides, by name.
    """

    def __init__(
        self,
        configuration: Configuration,
        facts: Facts,
        log: EventLog,
        *,
        settings_file: File | None = None,
        facts_file: File | None = None,
    ) -> None:
        self.settings = configuration.server
        self.log = log
        # What libraries log goes into the event log, before one logs: Python would write it to standard error as it is.
        root = logging.getLogger()
        root.handlers = [Bridge(log)]
        root.setLevel(logging.WARNING)
        self.metrics = metrics = Metrics()
        log.on_drop = metrics.dropped.inc
        self.lifecycle = Lifecycle()
        self.supervisor = Supervisor(log.event)
        self.requirements: dict[str, Callable[[], bool]] = {
            "listening": lambda: self.review_acceptor.port > 0,
            "not stopping": lambda: self.lifecycle.phase < Phase.DRAINING,
        }
        self.watchdog = LoopWatchdog(log, metrics)
        self.live = LiveConfig(configuration, facts, log, metrics)
        self.details: dict[str, Callable[[], str]] = {
            what: partial(self.live.describe, what) for what in ("settings", "facts")
        }
        bounds = self._affordable(reads_nodes=configuration.settings.facts.nodes)
        self.reviews = Reviews(self.live, self.settings, bounds, self.lifecycle, log, metrics)
        http = partial(HttpServer, settings=self.settings, arrival=self.watchdog.arrival, log=log, metrics=metrics)
        slots, subjects = Slots(bounds.connections, keeps=True), frozenset(configuration.tls.client_subjects)
        self.review_acceptor = Acceptor(http(self.reviews.handle, slots, subjects=subjects))
        health, slots = Health(self._conditions, self.details, metrics), Slots(_HEALTH_CONNECTIONS, keeps=False)
        self.health_acceptor = Acceptor(http(health.handle, slots, subjects=frozenset()))
        metrics.connections.set_function(lambda: self.review_acceptor.connections)
        self.credentials = Credentials(configuration.tls, self.review_acceptor.use_tls, metrics)
        self.reload = Reload([*self.live.sources(settings_file, facts_file), *self.credentials.sources()], log, metrics)
        self.details["settings refused"] = lambda: self.reload.problem("settings") or "none"
        readiness = partial(log_readiness, self._conditions, self.lifecycle, log.event)
        self.supervisor.tasks |= {"reload": self.reload.watch, "readiness": readiness}

    async def run(self) -> None:
        try:
            await self.startup()
            await self.lifecycle.reached(Phase.DRAINING)
            self.log.event("info", "stopping")
            await _first(self.lifecycle.reached(Phase.STOPPED), self._drain())
            self.lifecycle.enter(Phase.CLOSING)
        finally:
            await self.shutdown()

    async def startup(self) -> None:
        """Listen for health at once, and for reviews as soon as there is a certificate. Raises InputError."""
        self.watchdog.start()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGHUP, self.reload.asked.set)
        self._listen(self.health_acceptor, self.settings.health_port)
        try:
            await self.reload.first()
        except InputError as error:
            raise InputError.of("serve", str(error)) from None
        self.supervisor.start()
        await _first(self.credentials.presented.wait(), self.lifecycle.reached(Phase.DRAINING))
        if self.lifecycle.phase is Phase.STARTING:
            self._listen(self.review_acceptor, self.settings.port)
            self.lifecycle.enter(Phase.SERVING)
            event = "ready" if all(self._conditions().values()) else "listening"
            port, health_port = self.review_acceptor.port, self.health_acceptor.port
            self.log.event("info", event, host=self.settings.host, port=port, healthPort=health_port)

    async def shutdown(self) -> None:
        await self.supervisor.stop()
        for acceptor in (self.review_acceptor, self.health_acceptor):
            await acceptor.close(0.0 if self.lifecycle.phase is Phase.STOPPED else _LAST_ANSWERS)
        self.watchdog.stop()
        if self.review_acceptor.port > 0:
            self.log.event("info", "stopped")

    def stop(self) -> None:
        """Drain and stop; when called again, stop at once."""
        if self.lifecycle.phase < Phase.DRAINING:
            self.lifecycle.enter(Phase.DRAINING)
        else:
            self.log.event("warning", "stopping at once")
            self.lifecycle.enter(Phase.STOPPED)

    def _listen(self, acceptor: Acceptor, port: int) -> None:
        try:
            acceptor.listen(self.settings.host, port)
        except OSError as error:
            # The system's own words; the loop wraps those about addresses in its own.
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
            raise InputError.of("serve", f"cannot listen on {self.settings.host}:{port}: {why}") from None

    async def _drain(self) -> None:
        """Wait for the endpoints to go, accept no more connections, answer what is open: so no review is lost.

        Idle connections stay open meanwhile, and end with their next answer. The API server does not repeat a request
        that it sent into a connection which was just being closed (kubernetes/kubernetes#139105).
        """
        seconds, acceptor, http = self.settings.drain_timeout, self.review_acceptor, self.review_acceptor.http
        await within(self.settings.shutdown_delay, self.lifecycle.reached(Phase.STOPPED))
        acceptor.stop()
        await within(_HANDSHAKE_TIME, acceptor.handshakes_done())
        if await within(seconds * (1 - _REFUSING), http.quiet(min(_QUIET, seconds))):
            return
        self.lifecycle.enter(Phase.REFUSING)
        self.reviews.large.close()
        http.refuse_bodies()
        await within(seconds * _REFUSING, http.quiet(0))

    def _conditions(self) -> dict[str, bool]:
        return {name: holds() for name, holds in self.requirements.items()}

    def _affordable(self, *, reads_nodes: bool) -> Bounds:
        """What there is room for: as much as is set, unless a limit of the process forbids it."""
        settings, files = self.settings, limits.raised_open_files()
        bounds = Bounds(settings.body_limit, settings.max_connections)
        connections = min(bounds.connections, limits.affordable_connections(files))
        bounds = self._lowered(bounds, Bounds(bounds.body, connections), f"the limit of {files} open files")
        if (allowed := limits.memory_limit()) is None:
            return bounds
        self.metrics.memory_limit.set(allowed)
        room = limits.room(allowed, reads_nodes=reads_nodes)
        fit = limits.fitting(bounds, room)
        if (missing := fit.bytes - room) > 0:
            self.log.event(
                "warning", "memory limit too small for the costliest reviews", limit=allowed, missing=missing
            )
        return self._lowered(bounds, fit, f"the memory limit of {allowed} bytes")

    def _lowered(self, bounds: Bounds, fit: Bounds, limit: str) -> Bounds:
        """What fits; where that is less than before, the log says so."""
        if fit.connections < bounds.connections:
            self.log.event("info", "fewer connections than set", connections=fit.connections, reason=limit)
        if fit.body < bounds.body:
            self.log.event("warning", "smaller bodyLimit than set", bytes=fit.body, reason=limit)
        return fit


async def _first(*conditions: Awaitable[object]) -> None:
    """Wait until one of several conditions holds. Raises what it raises, and cancels the others."""
    tasks = [asyncio.ensure_future(condition) for condition in conditions]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()
