"""A TLS server on loopback that answers each request with the bytes that a test chooses."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.server.certificates import Certificates

Answer = Callable[[dict[str, Any]], bytes | None]
"""Makes the bytes of a response from the review of a request; None closes the connection without one."""


@dataclass(slots=True)
class Scripted:
    """A server with its port, and what it received: the number of connections, the paths and the reviews."""

    port: int
    connections: int = 0
    paths: list[str] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address for `--server`."""
        return f"https://localhost:{self.port}"


@contextmanager
def scripted(certificates: Certificates, *answers: Answer) -> Iterator[Scripted]:
    """Run a server for the time of the context. It answers each request with the next answer, the last one repeats."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Scripted(listener.getsockname()[1])
        left = list(answers)

        def accept() -> None:
            while True:
                try:
                    plain, _ = listener.accept()
                except OSError:
                    return
                server.connections += 1
                with suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
                    _serve(connection, server, left)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def _serve(connection: ssl.SSLSocket, server: Scripted, left: list[Answer]) -> None:
    """Answer the requests of a connection until the client or an answer ends it."""
    with connection.makefile("rb") as received:
        while line := received.readline():
            size = 0
            while (header := received.readline()) not in (b"\r\n", b""):
                name, _, value = header.decode().partition(":")
                if name.lower() == "content-length":
                    size = int(value)
            review = json.loads(received.read(size))
            server.paths.append(line.split()[1].decode())
            server.reviews.append(review)
            answered = (left.pop(0) if len(left) > 1 else left[0])(review)
            if answered is None:
                return
            connection.sendall(answered)
            if b"connection: close" in answered[:1000].lower():
                return


def http(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """The bytes of a response."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def answer(**response: Any) -> Answer:
    """Answer with an AdmissionReview whose response has these members; with the uid of the request unless given."""

    def answered(review: dict[str, Any]) -> bytes:
        members = {"uid": review["request"]["uid"], "allowed": True, **response}
        return http(
            json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": members}).encode()
        )

    return answered


def raw(response: bytes) -> Answer:
    """Answer with these bytes."""
    return lambda _review: response


def status(code: str, message: str, *headers: str) -> Answer:
    """Answer with an HTTP error whose body is a Status."""
    return raw(http(json.dumps({"kind": "Status", "message": message}).encode(), code, *headers))
