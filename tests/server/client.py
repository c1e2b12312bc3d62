"""A client that sends exactly the bytes that a test chooses."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from typing import Any

from tests.server.lines import PATIENCE, until

JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Client:
    """Speaks to one server's review port, and to its health port."""

    port: int
    health_port: int
    trust: ssl.SSLContext

    def connect(self, trust: ssl.SSLContext | None = None, session: ssl.SSLSession | None = None) -> ssl.SSLSocket:
        """A new TLS connection."""
        plain = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return (trust or self.trust).wrap_socket(plain, server_hostname="localhost", session=session)

    def say(self, request: bytes) -> Reply:
        """Send bytes on a new connection; the reply."""
        with self.connect() as connection:
            # The server may answer and close before it has read everything (RFC 9112, section 9.5).
            with suppress(ssl.SSLEOFError, ConnectionError):
                connection.sendall(request)
            return reply(connection)

    def post(self, path: str, body: bytes, headers: Mapping[str, str] = JSON) -> Reply:
        """Send a body on a new connection; the reply."""
        return self.say(request("POST", path, body, headers))

    def review(self, path: str, review: object) -> Reply:
        """Send a review on a new connection; the reply."""
        return self.post(path, json.dumps(review).encode())

    def metrics(self) -> str:
        """The metrics as they are now: an exposition is served for a second."""
        served = self.health("/metrics").headers["etag"]
        until(lambda: self.health("/metrics").headers["etag"] != served)
        return self.health("/metrics").body.decode()

    def health(self, path: str, method: str = "GET") -> Reply:
        """Ask the health port; the reply."""
        connection = HTTPConnection("127.0.0.1", self.health_port, timeout=PATIENCE)
        try:
            connection.request(method, path)
            return _read(connection.getresponse())
        finally:
            connection.close()


def request(method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = JSON) -> bytes:
    """The bytes of a request."""
    all_headers = {"Host": "localhost", "Content-Length": str(len(body)), **headers}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in all_headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def reply(connection: socket.socket, method: str = "POST") -> Reply:
    """The next reply on a connection."""
    response = HTTPResponse(connection, method=method)
    response.begin()
    return _read(response)


def _read(response: HTTPResponse) -> Reply:
    with response:
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, headers, response.read())


def measured(client: Client, series: str) -> float:
    """The value of one of the product's series; the sum of several with other labels."""
    lines = client.metrics().splitlines()
    starts = (f"gpushare_webhook_{series} ", f"gpushare_webhook_{series}{{")
    found = [float(line.rpartition(" ")[2]) for line in lines if line.startswith(starts)]
    assert found, f"there is no {series}"
    return sum(found)
