"""The server's life: open the doors, wait for a signal, drain, close."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from aiohttp import web

from webhook.diagnostics import InputError
from webhook.policy.placement.facts import Facts
from webhook.runtime.supervisor import Supervisor
from webhook.server import capacity, descriptors
from webhook.server.capacity import Bounds
from webhook.server.client_auth import ClientAuth
from webhook.server.credentials import Credentials
from webhook.server.health import Health
from webhook.server.http.acceptor import Acceptor
from webhook.server.http.listener import Listener
from webhook.server.http.shutdown import Draining
from webhook.server.live_config import Files, LiveConfig
from webhook.server.observe.log import Bridge, EventLog
from webhook.server.observe.metrics import Metrics
from webhook.server.observe.watchdog import LoopWatchdog
from webhook.server.reload import Reload
from webhook.server.reviews import Reviews
from webhook.settings.configuration import Configuration

_PROBES = 128
"""Connections of the health listener."""

_NO_FILES = Files()


class StartError(Exception):
    """The server cannot start. The message says why."""


class Server:
    """The webhook: reviews over HTTPS, health and metrics over HTTP.

    Beside it run `companions`. `requirements` are conditions of readiness, by name.
    """

    def __init__(self, configuration: Configuration, facts: Facts, log: EventLog, files: Files = _NO_FILES) -> None:
        self.settings = configuration.server
        self.log = log
        self._lead_logs()  # before a library logs: Python would write it to standard error as it is
        self.metrics = metrics = Metrics()
        log.on_drop = metrics.dropped.inc
        self.supervisor = Supervisor(log.event)
        self.requirements: dict[str, Callable[[], bool]] = {}
        self.pulse = LoopWatchdog(log, metrics)
        self.in_force = LiveConfig(configuration, facts, log, metrics)
        self._bounds = self._affordable()
        self.reviews = Reviews(self.in_force, self.settings, self._bounds, log, metrics)
        self.health = Health(self._conditions, metrics)
        callers = ClientAuth(configuration.tls.client_subjects)
        self.door = Acceptor(self._listener(self.reviews.handle, callers), self._bounds.connections, log)
        self.health_door = Acceptor(self._listener(self.health.handle, ClientAuth()), _PROBES, log)
        metrics.connections.set_function(lambda: self.door.connections)
        self.credentials = Credentials(configuration.tls, self.door, metrics)
        self.reload = Reload([*self.in_force.sources(files), *self.credentials.sources()], log, metrics)
        self.supervisor.add("reload", self.reload.watch)
        self.draining = Draining(self.settings, self.reviews, self.door)
        self._listening = False
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Serve until a signal comes. Raises StartError."""
        try:
            await self.startup()
            await self._stopping.wait()
            self.log.event("info", "stopping")
            await self.draining.run()
        finally:
            await self.shutdown()

    async def startup(self) -> None:
        """Open the doors: that of health at once, that of reviews when there is a certificate. Raises StartError."""
        self._take_signals()
        self.pulse.start()
        self._open(self.health_door, self.settings.health_port)
        try:
            await self.reload.first()
        except InputError as error:
            raise StartError(str(error)) from None
        self.supervisor.start()
        if not await self._certificate():
            return
        self._open(self.door, self.settings.port)
        self._listening = True
        event = "ready" if all(self._conditions().values()) else "listening"
        ports = {"port": self.door.port, "healthPort": self.health_door.port}
        self.log.event("info", event, host=self.settings.host, **ports)

    async def shutdown(self) -> None:
        """Close everything."""
        await self.supervisor.stop()
        await self.door.close(self.draining.patience)
        await self.health_door.close(self.draining.patience)
        self.pulse.stop()
        if self._listening:
            self.log.event("info", "stopped")

    def stop(self) -> None:
        """Stop; at once when it is said again."""
        if self._stopping.is_set():
            self.log.event("warning", "stopping at once")
            self.draining.hurry()
        self._stopping.set()

    def _conditions(self) -> dict[str, bool]:
        own = {"listening": self._listening, "not stopping": not self._stopping.is_set()}
        return own | {name: holds() for name, holds in self.requirements.items()}

    async def _certificate(self) -> bool:
        """Wait until there is a certificate to show; False when the server is stopped before."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self.credentials.presented, self._stopping)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        return self.credentials.presented.is_set()

    def _listener(self, handler: Any, callers: ClientAuth) -> Listener:
        settings = self.settings
        request = partial(web.BaseRequest, loop=asyncio.get_running_loop(), client_max_size=self._bounds.body)
        return Listener(
            handler,
            self.metrics,
            self.log,
            self.pulse.arrival,
            callers=callers,
            header_timeout=settings.header_timeout,
            request_factory=request,
            keepalive_timeout=settings.keep_alive,
        )

    def _affordable(self) -> Bounds:
        """What there is room for: as much as is set, unless a limit of the process forbids it."""
        settings, files = self.settings, descriptors.raised()
        bounds = Bounds(settings.body_limit, settings.max_connections)
        bounds = self._lowered(
            bounds,
            replace(bounds, connections=min(bounds.connections, descriptors.affordable(files))),
            f"the limit of {files} open files",
        )
        if (allowed := capacity.limit()) is None:
            return bounds
        room = allowed - capacity.resident()
        fit = capacity.fitting(bounds, room)
        if fit.bytes > room:
            missing = fit.bytes - room
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

    def _open(self, door: Acceptor, port: int) -> None:
        try:
            door.open(self.settings.host, port)
        except OSError as error:
            raise StartError(f"cannot listen on {self.settings.host}:{port}: {_why(error)}") from None

    def _take_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGHUP, self.reload.ask)

    def _lead_logs(self) -> None:
        """Lead what libraries log into the journal. What a client got wrong is no event of ours."""
        root = logging.getLogger()
        root.handlers = [Bridge(self.log)]
        root.setLevel(logging.WARNING)
        logging.getLogger("webhook.http").setLevel(logging.CRITICAL)


def _why(error: OSError) -> str:
    """The system's own words; the loop wraps those about addresses in its own."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)
