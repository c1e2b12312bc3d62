"""The connection to a running webhook: HTTPS as the API server speaks it, by the standard library.

Proxies of the environment are ignored: a webhook is reached on loopback through a forwarded port, or inside the
cluster's network.
"""

from __future__ import annotations

import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from typing import Any, NamedTuple

from webhook import __version__
from webhook.remote.address import Address
from webhook.remote.errors import ServerError
from webhook.remote.failures import explain

LARGEST = 8 * 1024 * 1024
"""Bytes of the largest response that is read. A denial has some 64 KiB, a patch of 4,096 edits has 1 MiB."""

_TRIES = 11
"""How often a request is sent, as by the API server (`maxRetries` of kubernetes/client-go, rest/request.go)."""

_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": f"gpushare-webhook/{__version__}",
}


class Limits(NamedTuple):
    """Seconds for the connection to each address of the host, and for a response with its retries.

    The API server waits 10 seconds for a response, unless `timeoutSeconds` of the webhook says otherwise.
    """

    connect: float = 5.0
    response: float = 10.0


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response whose body was read completely."""

    status: int
    body: bytes
    retry_after: float | None


class Connection:
    """Sends requests to one server, on one connection while the server keeps it."""

    def __init__(self, address: Address, context: ssl.SSLContext, limits: Limits) -> None:
        context.sslsocket_class = _TimedSocket
        self._address = address
        self._limits = limits
        self._http = _Https(address, context, limits.connect)
        self._is_used = False

    def post(self, path: str, body: bytes) -> Reply:
        """Send a body and return the reply. Raises ServerError if there is none.

        A reply with status 429 or 5xx that names seconds in Retry-After is retried, as by the API server
        (kubernetes/client-go, rest/with_retry.go).
        """
        deadline = time.monotonic() + self._limits.response
        path = f"{path}?timeout={self._limits.response:g}s"
        for _ in range(_TRIES):
            reply = self._sent(path, body, deadline)
            if reply.retry_after is None or time.monotonic() + reply.retry_after >= deadline:
                break
            time.sleep(reply.retry_after)
        return reply

    def close(self) -> None:
        """Close the connection."""
        self._http.close()
        self._is_used = False

    def _sent(self, path: str, body: bytes, deadline: float) -> Reply:
        """The reply to one request. Raises ServerError.

        A server may close a kept connection at any time, so a request without a reply there is sent once more on a new
        connection: a review changes nothing.
        """
        try:
            if self._is_used:
                try:
                    return self._exchanged(path, body, deadline)
                except (ConnectionError, ssl.SSLError):
                    self.close()
            return self._exchanged(path, body, deadline)
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            raise ServerError(explain(error, self._address, *self._limits)) from None

    def _exchanged(self, path: str, body: bytes, deadline: float) -> Reply:
        self._http.limit(deadline)
        try:
            self._http.request("POST", path, body, _HEADERS)
        except (ConnectionError, ssl.SSLError):
            self._http.raise_alert()
            raise
        with self._http.getresponse() as response:
            content = _read(response)
            self._is_used = not response.will_close
        if response.will_close:
            self.close()
        return Reply(response.status, content, _retry_after(response))


class _Https(HTTPConnection):
    """A connection that verifies the certificate for the address's server name."""

    def __init__(self, address: Address, context: ssl.SSLContext, seconds: float) -> None:
        super().__init__(address.host, address.port, timeout=seconds)
        self._context = context
        self._server_name = address.server_name

    def connect(self) -> None:
        """Open the connection. Raises OSError, ValueError."""
        plain = socket.create_connection((self.host, self.port), self.timeout)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sock = self._context.wrap_socket(plain, server_hostname=self._server_name)
        except BaseException:
            plain.close()
            raise

    def limit(self, deadline: float) -> None:
        """Open the connection if there is none. It raises TimeoutError from a time of the monotonic clock on."""
        if self.sock is None:
            self.connect()
        if isinstance(self.sock, _TimedSocket):
            self.sock.deadline = deadline

    def raise_alert(self) -> None:
        """Raise the TLS alert that the server has sent, if there is one: it says why the server closes the connection.

        With TLS 1.3, a server rejects the client's certificate, or its absence, after the client's handshake.
        """
        with suppress(ConnectionError, ssl.SSLEOFError):
            self.sock.recv_into(bytearray(1))


class _TimedSocket(ssl.SSLSocket):
    """A socket that raises TimeoutError once a deadline is over, however slowly bytes arrive."""

    deadline = float("inf")

    def recv_into(self, *arguments: Any, **named: Any) -> int:
        """Receive bytes. Raises OSError."""
        self._allow()
        return super().recv_into(*arguments, **named)

    def send(self, *arguments: Any, **named: Any) -> int:
        """Send bytes. Raises OSError."""
        self._allow()
        return super().send(*arguments, **named)

    def _allow(self) -> None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.settimeout(left)


def _read(response: HTTPResponse) -> bytes:
    """The body. Raises OSError, HTTPException, ValueError for one that is too large."""
    content = response.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"sends a response of more than {LARGEST // 2**20} MiB")
    if response.length:
        raise IncompleteRead(content, response.length)
    return content


def _retry_after(response: HTTPResponse) -> float | None:
    """The seconds after which to retry; None for a response that is final."""
    given = response.headers.get("Retry-After", "")
    is_temporary = response.status == 429 or response.status >= 500
    return float(given) if is_temporary and given.isascii() and given.isdigit() and len(given) < 10 else None
