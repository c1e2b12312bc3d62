"""The server in the test process, on real sockets, for tests that have to reach into it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import yaml

from tests.server.certificates import Certificates
from tests.server.client import Client
from tests.server.lines import PATIENCE, Lines
from webhook.policy.placement.facts import Facts
from webhook.server.app import Server
from webhook.server.log import EventLog
from webhook.settings.configuration import Configuration
from webhook.settings.load import load, load_facts


@dataclass(frozen=True, slots=True)
class Running:
    """A server that is ready, with its log and a client for it."""

    server: Server
    log: Lines
    client: Client

    async def ask(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a blocking function, while the server runs in this thread."""
        return await asyncio.wait_for(asyncio.to_thread(question, *arguments), PATIENCE)


def configuration(settings: str, certificates: Certificates) -> Configuration:
    """The configuration that a settings file describes, on free ports of loopback."""
    read = load(yaml.safe_load(settings), _nowhere, "settings.yaml")
    return replace(
        read,
        server=replace(read.server, host="127.0.0.1", port=0, health_port=0),
        tls=replace(read.tls, cert_file=str(certificates.certificate), key_file=str(certificates.key)),
    )


def facts(text: str) -> Facts:
    """The facts that a facts file describes."""
    return load_facts(yaml.safe_load(text), _nowhere, "facts.yaml")


def _nowhere(path: tuple[str | int, ...]) -> tuple[int, int]:
    return 1, 1


@asynccontextmanager
async def running(certificates: Certificates, settings: str = "", known: str = "") -> AsyncIterator[Running]:
    """Run a server for the time of the context."""
    reading, writing = os.pipe()
    wanted = configuration(settings, certificates)
    lines = Lines(os.fdopen(reading, "rb"))
    try:
        async with started(wanted, EventLog(wanted.log.format, "debug", writing), known) as server:
            yield Running(server, lines, client_of(server, certificates))
    finally:
        os.close(writing)


@asynccontextmanager
async def started(wanted: Configuration, log: EventLog, known: str = "") -> AsyncIterator[Server]:
    """Run a server that writes to this log for the time of the context."""
    server = Server(wanted, facts(known), log)
    with restored_logging():
        try:
            await server.startup()
            yield server
        finally:
            await server.shutdown()
            await asyncio.to_thread(log.close)


def client_of(server: Server, certificates: Certificates) -> Client:
    """A client for a server that has started."""
    port, health_port = (acceptor.port for acceptor in (server.review_acceptor, server.health_acceptor))
    return Client(port, health_port, certificates.trust())


@contextmanager
def restored_logging() -> Iterator[None]:
    """Restore what the server changes about the logging of its process."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    try:
        yield
    finally:
        root.handlers = handlers
        root.setLevel(level)
