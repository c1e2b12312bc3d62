"""The server's life: start the listeners, wait for a signal, stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import ssl
from contextlib import suppress
from functools import partial
from typing import Any

from aiohttp import web

from webhook.policy.rules import Ruleset
from webhook.server import tls
from webhook.server.health import Health
from webhook.server.journal import Bridge, Journal
from webhook.server.listener import Listener
from webhook.server.metrics import Metrics
from webhook.server.reviews import Reviews
from webhook.settings.configuration import Configuration

_CLOSING = 1.0
"""Seconds for connections to end once nothing is open on them."""


class StartError(Exception):
    """The server cannot start. The message says why."""


class Server:
    """The webhook: reviews over HTTPS, health and metrics over HTTP."""

    def __init__(self, configuration: Configuration, ruleset: Ruleset, journal: Journal) -> None:
        self.configuration = configuration
        self.journal = journal
        self.metrics = Metrics()
        self.metrics.generation.set(1)
        journal.on_drop = self.metrics.dropped.inc
        self.reviews = Reviews(ruleset, journal, self.metrics)
        self.health = Health(self._conditions, self.metrics)
        self._listening = False
        self._stopping = asyncio.Event()
        self._runners: list[web.ServerRunner] = []

    async def run(self) -> None:
        """Serve until a signal comes. Raises StartError."""
        try:
            await self.startup()
            await self._stopping.wait()
            self.journal.say("info", "stopping")
        finally:
            await self.shutdown()

    async def startup(self) -> None:
        """Open the listeners; ready once both are open. Raises StartError."""
        settings = self.configuration.server
        try:
            secure = tls.context(self.configuration.tls)
        except tls.CertificateError as error:
            raise StartError(str(error)) from None
        self.metrics.expiry.labels("leaf").set(tls.expiry(str(self.configuration.tls.cert_file)))
        self._lead_logs()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        port = await self._listen(self.reviews.handle, settings.port, secure)
        health_port = await self._listen(self.health.handle, settings.health_port, None)
        self._listening = True
        self.journal.say("info", "ready", host=settings.host, port=port, healthPort=health_port)

    async def shutdown(self) -> None:
        """Stop accepting, answer what is open, close."""
        for site in [site for runner in self._runners for site in runner.sites]:
            await site.stop()
        # A runner's clean-up stops reading at once, so what is still arriving has to be waited for here.
        with suppress(TimeoutError):
            async with asyncio.timeout(self.configuration.server.drain_timeout):
                await self.reviews.idle.wait()
        for runner in self._runners:
            await runner.cleanup()
        if self._listening:
            self.journal.say("info", "stopped")

    def _conditions(self) -> dict[str, bool]:
        return {"listening": self._listening, "not stopping": not self._stopping.is_set()}

    async def _listen(self, handler: Any, port: int, secure: ssl.SSLContext | None) -> int:
        """Open one listener; the port that it got."""
        settings = self.configuration.server
        request = partial(web.BaseRequest, loop=asyncio.get_running_loop(), client_max_size=settings.body_limit)
        server = Listener(handler, self.metrics, request_factory=request, keepalive_timeout=settings.keep_alive)
        runner = web.ServerRunner(server, shutdown_timeout=_CLOSING)
        await runner.setup()
        self._runners.append(runner)
        try:
            await web.TCPSite(runner, settings.host, port, ssl_context=secure).start()
        except OSError as error:
            raise StartError(f"cannot listen on {settings.host}:{port}: {_why(error)}") from None
        return int(runner.addresses[0][1])

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
