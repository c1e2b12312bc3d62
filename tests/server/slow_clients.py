"""Clients that finish nothing: `python -m tests.server.slow_clients ATTACK COUNT SOURCES PORT HEALTH-PORT`.

Each opens a connection, and another one a second after it has lost that. The process prints `begun` once every client
has connected or failed to, and ends when it is killed.
"""

from __future__ import annotations

import asyncio
import os
import resource
import ssl
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

PAUSE = 3.0
"""Seconds until a client that was evicted comes again."""

TRICKLE = 0.5
"""Seconds between two bytes of a client that trickles, and between two requests of others."""

HEADER = b"POST /mutate?timeout=30s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = HEADER + b"Content-Length: 5000\r\n\r\n"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def hello() -> bytes:
    """A ClientHello."""
    outgoing = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


async def pause(seconds: float) -> None:
    """Do nothing: that is the attack."""
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), seconds)


async def silent(streams: Streams) -> None:
    await streams[0].read()


def sending(start: bytes, trickled: bytes = b"") -> Callable[[Streams], Awaitable[None]]:
    """Send the start at once and the rest byte by byte, then wait for the end."""

    async def send(streams: Streams) -> None:
        reader, writer = streams
        writer.write(start)
        for number in range(len(trickled)):
            with suppress(TimeoutError):
                if not await asyncio.wait_for(reader.read(1), TRICKLE):
                    return
            writer.write(trickled[number : number + 1])
            await writer.drain()
        await reader.read()

    return send


def asking(path: str) -> Callable[[Streams], Awaitable[None]]:
    """Ask for a path again and again."""

    async def ask(streams: Streams) -> None:
        reader, writer = streams
        while True:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            if not await reader.read(65536):
                return
            await pause(TRICKLE)

    return ask


async def unread(streams: Streams) -> None:
    """Ask for the metrics and read none of them."""
    reader, writer = streams
    writer.transport.pause_reading()  # type: ignore[attr-defined]  # it is a read transport, too
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    await reader.read()


@dataclass(frozen=True, slots=True)
class Attack:
    """What a client does, on which port, and whether after the handshake."""

    run: Callable[[Streams], Awaitable[None]]
    tls: bool = False
    health: bool = False


ATTACKS = {
    "silence": Attack(silent),
    "trickled ClientHello": Attack(sending(hello()[:1], hello()[1:])),
    "half a handshake": Attack(sending(hello())),
    "trickled header": Attack(sending(HEADER, b"X-Slow: " + b"x" * 1000), tls=True),
    "trickled body": Attack(sending(BODY, b"{" + b" " * 1000), tls=True),
    "requests for nothing": Attack(asking("/"), tls=True),
    "probes": Attack(asking("/livez"), health=True),
    "trickled probe": Attack(sending(b"GET /li", b"vez HTTP/1.1\r\n" + b"X: x\r\n" * 100), health=True),
    "unread metrics": Attack(unread, health=True),
}


async def attack(attack: Attack, count: int, sources: int, port: int, health_port: int) -> None:
    """Attack until the process ends."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    begun = asyncio.Semaphore(0)

    async def client(number: int) -> None:
        source = f"127.1.{number % sources >> 8}.{number % sources & 255}"
        first = True
        while True:
            writer = None
            with suppress(OSError, asyncio.IncompleteReadError):
                async with asyncio.timeout(PAUSE if first else None):
                    target = health_port if attack.health else port
                    streams = await asyncio.open_connection(
                        "127.0.0.1", target, ssl=context if attack.tls else None, local_addr=(source, 0)
                    )
                writer = streams[1]
                if first:
                    begun.release()
                    first = False
                await attack.run(streams)
            if first:
                begun.release()
                first = False
            if writer is not None:
                writer.transport.abort()
            await pause(PAUSE)

    clients = [asyncio.create_task(client(number)) for number in range(count)]
    for _ in clients:
        await begun.acquire()
    print("begun", flush=True)
    await asyncio.gather(*clients)


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    name, *numbers = sys.argv[1:]
    os.nice(10)  # an attacker has no processor of the server
    asyncio.run(attack(ATTACKS[name], *map(int, numbers)))
