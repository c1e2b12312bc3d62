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

from webhook.policy.facts import Facts
from webhook.server import descriptors, memory
from webhook.server.callers import Callers
from webhook.server.companions import Companions
from webhook.server.credentials import Credentials
from webhook.server.door import Door
from webhook.server.draining import Draining
from webhook.server.health import Health
from webhook.server.in_force import Files, InForce
from webhook.server.journal import Bridge, Journal
from webhook.server.listener import Listener
from webhook.server.memory import Bounds
from webhook.server.metrics import Metrics
from webhook.server.pulse import Pulse
from webhook.server.reload import Reload, UnusableError
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

    def __init__(self, configuration: Configuration, facts: Facts, journal: Journal, files: Files = _NO_FILES) -> None:
        self.settings = configuration.server
        self.journal = journal
        self._lead_logs()  # before a library logs: Python would write it to standard error as it is
        self.metrics = metrics = Metrics()
        journal.on_drop = metrics.dropped.inc
        self.companions = Companions(journal)
        self.requirements: dict[str, Callable[[], bool]] = {}
        self.pulse = Pulse(journal, metrics)
        self.in_force = InForce(configuration, facts, journal, metrics)
        self._bounds = self._affordable()
        self.reviews = Reviews(self.in_force, self.settings, self._bounds, journal, metrics)
        self.health = Health(self._conditions, metrics)
        callers = Callers(configuration.tls.client_subjects)
        self.door = Door(self._listener(self.reviews.handle, callers), self._bounds.connections, journal)
        self.health_door = Door(self._listener(self.health.handle, Callers()), _PROBES, journal)
        metrics.connections.set_function(lambda: self.door.connections)
        self.credentials = Credentials(configuration.tls, self.door, metrics)
        self.reload = Reload([*self.in_force.sources(files), *self.credentials.sources()], journal, metrics)
        self.companions.add("reload", self.reload.watch)
        self.draining = Draining(self.settings, self.reviews, self.door)
        self._listening = False
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Serve until a signal comes. Raises StartError."""
        try:
            await self.startup()
            await self._stopping.wait()
            self.journal.say("info", "stopping")
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
        except UnusableError as error:
            raise StartError(str(error)) from None
        self.companions.start()
        if not await self._certificate():
            return
        self._open(self.door, self.settings.port)
        self._listening = True
        event = "ready" if all(self._conditions().values()) else "listening"
        ports = {"port": self.door.port, "healthPort": self.health_door.port}
        self.journal.say("info", event, host=self.settings.host, **ports)

    async def shutdown(self) -> None:
        """Close everything."""
        await self.companions.stop()
        await self.door.close(self.draining.patience)
        await self.health_door.close(self.draining.patience)
        self.pulse.stop()
        if self._listening:
            self.journal.say("info", "stopped")

    def stop(self) -> None:
        """Stop; at once when it is said again."""
        if self._stopping.is_set():
            self.journal.say("warning", "stopping at once")
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

    def _listener(self, handler: Any, callers: Callers) -> Listener:
        settings = self.settings
        request = partial(web.BaseRequest, loop=asyncio.get_running_loop(), client_max_size=self._bounds.body)
        return Listener(
            handler,
            self.metrics,
            self.journal,
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
        if (allowed := memory.limit()) is None:
            return bounds
        room = allowed - memory.resident()
        fit = memory.fitting(bounds, room)
        if fit.bytes > room:
            missing = fit.bytes - room
            self.journal.say(
                "warning", "memory limit too small for the costliest reviews", limit=allowed, missing=missing
            )
        return self._lowered(bounds, fit, f"the memory limit of {allowed} bytes")

    def _lowered(self, bounds: Bounds, fit: Bounds, limit: str) -> Bounds:
        """What fits; where that is less than before, the log says so."""
        if fit.connections < bounds.connections:
            self.journal.say("info", "fewer connections than set", connections=fit.connections, reason=limit)
        if fit.body < bounds.body:
            self.journal.say("warning", "smaller bodyLimit than set", bytes=fit.body, reason=limit)
        return fit

    def _open(self, door: Door, port: int) -> None:
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
        root.handlers = [Bridge(self.journal)]
        root.setLevel(logging.WARNING)
        logging.getLogger("webhook.http").setLevel(logging.CRITICAL)


def _why(error: OSError) -> str:
    """The system's own words; the loop wraps those about addresses in its own."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)
