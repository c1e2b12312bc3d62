"""The server's life: start the listeners, wait for a signal, stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import ssl
from functools import partial
from typing import Any

from aiohttp import web

from webhook.policy.rules import Ruleset
from webhook.server import tls
from webhook.server.health import Health
from webhook.server.journal import Bridge, Journal
from webhook.server.metrics import Metrics
from webhook.server.reviews import Reviews
from webhook.settings.configuration import Configuration


class StartError(Exception):
    """The server cannot start. The message says why."""


class Server:
    """The webhook: reviews over HTTPS, health and metrics over HTTP."""

    def __init__(self, configuration: Configuration, ruleset: Ruleset, journal: Journal) -> None:
        self.configuration = configuration
        self.journal = journal
        self.metrics = Metrics()
        self.metrics.generation.set(1)
        self.reviews = Reviews(ruleset, journal, self.metrics)
        self.health = Health(self._conditions, journal, self.metrics)
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
        server = web.Server(
            handler,
            request_factory=request,
            keepalive_timeout=settings.keep_alive,
            auto_decompress=False,
            access_log=None,
            logger=logging.getLogger("webhook.http"),
        )
        runner = web.ServerRunner(server, shutdown_timeout=settings.drain_timeout)
        await runner.setup()
        self._runners.append(runner)
        try:
            await web.TCPSite(runner, settings.host, port, ssl_context=secure).start()
        except OSError as error:
            raise StartError(f"cannot listen on {settings.host}:{port}: {error.strerror}") from None
        return int(runner.addresses[0][1])

    def _lead_logs(self) -> None:
        """Lead what libraries log into the journal. What a client got wrong is no event of ours."""
        root = logging.getLogger()
        root.handlers = [Bridge(self.journal)]
        root.setLevel(logging.WARNING)
        logging.getLogger("webhook.http").setLevel(logging.CRITICAL)
