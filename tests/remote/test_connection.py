"""The limits of a request, and the responses that it retries."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.remote.scripted import http, raw, scripted
from tests.server.certificates import Certificates
from webhook.remote import Address, ServerError
from webhook.remote.connection import Connection, Limits

LIMITS = Limits(connect=0.5, response=0.5)


@contextmanager
def connection(certificates: Certificates, port: int, limits: Limits = LIMITS) -> Iterator[Connection]:
    """A connection with short limits, unless given others."""
    made = Connection(Address("localhost", port, "localhost"), certificates.trust(), limits)
    try:
        yield made
    finally:
        made.close()


def error_of(certificates: Certificates, port: int, body: bytes = b"{}") -> str:
    """The error of a request to a port."""
    with connection(certificates, port) as client, pytest.raises(ServerError) as error:
        client.post("/validate", body)
    return str(error.value)


def test_silent_server(certificates: Certificates) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # the kernel accepts, and nothing answers the handshake
        assert "does not answer in time: 0.5 s to connect" in error_of(certificates, listener.getsockname()[1])


def test_response_that_never_begins(certificates: Certificates) -> None:
    ended = threading.Event()

    def wait(_review: object) -> None:
        ended.wait(10)

    with scripted(certificates, wait) as server:
        message = error_of(certificates, server.port)
        ended.set()
    assert "0.5 s for a response" in message


def test_response_that_never_ends(certificates: Certificates) -> None:
    with scripted(certificates, raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 3_000_000)) as server:
        assert "does not answer in time" in error_of(certificates, server.port)


def test_request_that_is_never_read(certificates: Certificates) -> None:
    """A large body fills the buffers of the kernel."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    ended = threading.Event()

    def accept(listener: socket.socket) -> None:
        with context.wrap_socket(listener.accept()[0], server_side=True):
            ended.wait(10)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=[listener], daemon=True).start()
        message = error_of(certificates, listener.getsockname()[1], b" " * 64_000_000)
        ended.set()
    assert "does not answer in time" in message


@pytest.mark.parametrize(("code", "tries"), [(429, 2), (499, 1), (500, 2)])
def test_temporary_failure_is_retried(certificates: Certificates, code: int, tries: int) -> None:
    failure, success = raw(http(b"{}", f"{code} Failure", "Retry-After: 0")), raw(http(b"{}"))
    with (
        scripted(certificates, failure, success) as server,
        connection(certificates, server.port, Limits()) as client,
    ):
        assert client.post("/validate", b"{}").status == (200 if tries == 2 else code)
    assert len(server.paths) == tries


def test_response_in_last_second_is_read(certificates: Certificates) -> None:
    with (
        scripted(certificates, raw(http(b"{}"))) as server,
        connection(certificates, server.port, Limits(response=1.0)) as client,
    ):
        assert client.post("/validate", b"{}").status == 200
