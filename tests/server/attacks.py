"""Ways to misuse a connection, each bounded: what a client sends, and how it ends the connection."""

from __future__ import annotations

import json
import socket
import ssl
import struct
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto

from tests.server.reviews import pod, review

PATIENCE = 10.0

_HEAD = b"POST /mutate?timeout=10s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
_BODY = json.dumps(review(pod())).encode()
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
_GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
_UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
_CLIENT_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 100

REVIEW = _HEAD + b"Content-Length: %d\r\n\r\n" % len(_BODY) + _BODY


def _sized(length: int) -> bytes:
    return _HEAD + b"Content-Length: %d\r\n\r\n" % length


class End(Enum):
    """How a client ends its connection."""

    RESET = auto()
    CLOSE = auto()
    HALF = auto()
    """It ends TLS, and waits for the end of the server."""


@dataclass(frozen=True, slots=True)
class Attack:
    """What a client sends, in one record of TLS or `apart`, byte by byte; whether it `reads` some of an answer."""

    name: str
    sent: bytes = b""
    end: End = End.RESET
    tls: bool = True
    reads: bool = False
    apart: bytes = b""

    def run(self, port: int, trust: ssl.SSLContext) -> None:
        """Attack once. Raises OSError where the server, or TLS, ends the connection earlier."""
        connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                connection = trust.wrap_socket(connection, server_hostname="localhost")
            connection.sendall(self.sent)
            for number in range(len(self.apart)):
                connection.sendall(self.apart[number : number + 1])
            if self.reads:
                connection.recv(1000)
            if self.end is End.HALF and isinstance(connection, ssl.SSLSocket):
                connection.unwrap()
            if self.end is End.RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        finally:
            connection.close()

    def attempt(self, port: int, trust: ssl.SSLContext) -> bool:
        """Attack once; whether the server let it reach its end."""
        with suppress(OSError):
            self.run(port, trust)
            return True
        return False


ATTACKS = (
    Attack("aborted connection", tls=False),
    Attack("aborted ClientHello", _CLIENT_HELLO, tls=False),
    Attack("plain HTTP", _GET, tls=False, reads=True, end=End.CLOSE),
    Attack("aborted handshake", b""),
    Attack("part of a header", _HEAD),
    Attack("part of a header, closed", _HEAD[:20], end=End.CLOSE),
    Attack("part of a body", _sized(5000) + b"{"),
    Attack("part of a large body", _sized(1_000_000) + b"x" * 60_000),
    Attack("part of a chunk", _CHUNKED + b"1000\r\n" + b"x" * 100),
    Attack("body after 100-continue", _HEAD + b"Expect: 100-continue\r\nContent-Length: 5000\r\n\r\n", reads=True),
    Attack("unread answer", REVIEW),
    Attack("half-closed after a review", REVIEW, end=End.HALF),
    Attack("honest client that restarts", REVIEW, reads=True),
    Attack("40 pipelined reviews", REVIEW * 40),
    Attack("500 pipelined requests", _GET * 500),
    Attack("upgrade", _GET.removesuffix(b"\r\n") + _UPGRADE + b"x" * 1000),
    Attack("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 100),
    Attack("CONNECT", b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n" + b"x" * 30_000),
    Attack("header of 200 kB", _HEAD + b"X: " + b"a" * 200_000 + b"\r\n\r\n"),
    Attack("5,000 headers", _HEAD + b"".join(b"X%d: a\r\n" % number for number in range(5000)) + b"\r\n"),
    Attack("long chunk extension", _CHUNKED + b"1;" + b"e" * 30_000 + b"\r\nx\r\n"),
    Attack("2,000 trailers", _CHUNKED + b"1\r\n{\r\n0\r\n" + b"".join(b"T%d: x\r\n" % one for one in range(2000))),
    Attack("8,000 chunks of a byte", _CHUNKED + b"1\r\n{\r\n" * 8000),
    Attack("300 records of a byte", _sized(3000), apart=b"x" * 300),
)
"""Each is one connection of one client."""
