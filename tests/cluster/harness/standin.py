"""A webhook whose answers the test chooses, to learn how the API server behaves or to run next to the real one."""

from __future__ import annotations

import base64
import json
import ssl
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

from tests.cluster.harness.hooks import MUTATING, rejection
from tests.cluster.harness.manifests import container, labelled, pod
from tests.cluster.harness.waiting import wait_for
from webhook.pki import Authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.harness.place import Place


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def allow(review: Object, *operations: Object) -> Answer:
    """Allow a review, with the operations of a JSON patch if there are any."""
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return _response(review, {"allowed": True} | ({"patchType": "JSONPatch", "patch": patch} if operations else {}))


def deny(review: Object, message: str) -> Answer:
    """Deny a review."""
    return _response(review, {"allowed": False, "status": {"code": 403, "message": message}})


def _response(review: Object, response: Object) -> Answer:
    answer = {
        "apiVersion": review["apiVersion"],
        "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"]} | response,
    }
    return Answer(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})


class StandIn:
    """A running stand-in: `reviews` has every review that it received, in order."""

    def __init__(self, url: str, authority: bytes) -> None:
        self.url = url
        self.authority = base64.b64encode(authority).decode()
        self.reviews: list[Object] = []

    def client_config(self) -> Object:
        """The `clientConfig` of a webhook configuration that calls it by its URL."""
        return {"url": self.url, "caBundle": self.authority}


@contextmanager
def stand_in(place: Place, answer: Callable[[Object], Answer]) -> Iterator[StandIn]:
    """Serve reviews with `answer` in this process, at the place's address, with a certificate of its own."""
    listening = place.listen()
    port, now, day = listening.getsockname()[1], datetime.now(UTC), timedelta(days=1)
    authority = Authority.create(f"stand-in at {port}", now, day)
    leaf = authority.sign([place.address], now, day)
    running = StandIn(f"https://{place.address}:{port}/", authority.bundle())

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            running.reviews.append(review)
            said = answer(review)
            with suppress(OSError):  # the API server has not waited for the answer
                self.send_response(said.status)
                for name, value in {**said.headers, "Content-Length": str(len(said.body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(said.body)

        def log_message(self, *_: Any) -> None:
            """Log nothing: `reviews` has the details."""

    server = ThreadingHTTPServer(("", 0), Handler, bind_and_activate=False)
    server.socket.close()
    # The handshake takes place in the thread of the connection, not in the one that accepts.
    context = _context(place.folder / f"stand-in-{port}.pem", leaf.key + leaf.certificate)
    server.socket = context.wrap_socket(listening, server_side=True, do_handshake_on_connect=False)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def registered(running: ControlPlaneOnly, webhook: StandIn, name: str, **fields: Any) -> Iterator[None]:
    """A mutating configuration that calls a stand-in for new pods with the label `called`; deleted at the end."""
    entry = {
        "name": "stand-in.example.test",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": webhook.client_config(),
        "objectSelector": {"matchLabels": {"called": "yes"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        **fields,
    }
    with running.api.created(MUTATING, {"metadata": {"name": name}, "webhooks": [entry]}):
        yield
    wait_for("the configuration to be forgotten", lambda: not is_called(running, webhook))


def is_called(running: ControlPlaneOnly, webhook: StandIn) -> bool:
    """Whether the API server calls a stand-in for a new pod."""
    before = len(webhook.reviews)
    rejection(running, labelled(pod("looks", container(gpus=0)), called="yes"))
    return len(webhook.reviews) > before


def _context(file: Path, pem: bytes) -> ssl.SSLContext:
    file.touch(0o600)
    file.write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
