"""Client certificates: only a client with an allowed certificate, such as the API server, is answered."""

from __future__ import annotations

import http.client
import json
import ssl
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.hooks import DRY_POD, LocalWebhook, hooks, is_mutated, local_webhook_process
from tests.cluster.harness.manifests import pod
from tests.cluster.harness.options import ControlPlaneOptions
from tests.server.certificates import client_certificate
from tests.server.reviews import review
from webhook.pki import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object

API_SERVER, OTHER = "kube-apiserver", "other"
REFUSED = "the common name of the client certificate is not in tls.clientSubjects"


@pytest.fixture(scope="module")
def callers() -> Authority:
    """The authority of allowed clients."""
    return Authority.create("callers", datetime.now(UTC), timedelta(days=1))


@pytest.fixture(scope="module")
def running(needs_control_plane: None, callers: Authority) -> Iterator[ControlPlaneOnly]:
    with control_plane(ControlPlaneOptions(caller=client_certificate(callers, API_SERVER))) as started:
        yield started


@contextmanager
def _answering(running: ControlPlaneOnly, callers: Authority, *subjects: str) -> Iterator[LocalWebhook]:
    """The webhook, which answers only clients with these names."""
    bundle = running.place.folder / "callers.crt"
    bundle.write_bytes(callers.bundle())
    tls = {"clientCA": str(bundle), "clientSubjects": subjects}
    off = {"injections": {"runtimeClass": {"enabled": False}}}  # the class is not there
    with local_webhook_process(running, settings=off | {"tls": tls}) as beside:
        yield beside


def test_only_clients_with_allowed_certificate_are_answered(running: ControlPlaneOnly, callers: Authority) -> None:
    with (
        _answering(running, callers, API_SERVER) as beside,
        hooks(running, beside.client_config, lambda: _is_completed(running)),
    ):
        assert _is_completed(running)
        assert _ask(running, beside, client_certificate(callers, API_SERVER))[0] == 200
        status, answer = _ask(running, beside, client_certificate(callers, OTHER))
        assert (status, answer["message"]) == (403, REFUSED)
        stranger = Authority.create("strangers", datetime.now(UTC), timedelta(days=1))
        for shown in (None, client_certificate(stranger, API_SERVER)):
            # In TLS 1.3 the client finishes before the server verifies: it fails with its next read or write.
            with pytest.raises((ssl.SSLError, ConnectionError)):
                _ask(running, beside, shown)


def _is_completed(running: ControlPlaneOnly) -> bool:
    try:
        return is_mutated(running.api.create(DRY_POD, pod("one")))
    except ApiError:
        return False  # the product is still starting


def _ask(running: ControlPlaneOnly, beside: LocalWebhook, shown: bytes | None) -> tuple[int, Object]:
    """Send a review with a client certificate, or without one; return status and body of the answer."""
    context = ssl.create_default_context(cadata=beside.authority.bundle().decode())
    if shown:
        file = running.place.folder / "shown.pem"
        file.write_bytes(shown)
        context.load_cert_chain(file)
    connection = http.client.HTTPSConnection(beside.place.address, beside.port)
    plain = beside.place.connect(beside.place.address, beside.port, 5)
    connection.sock = context.wrap_socket(plain, server_hostname=beside.place.address)
    try:
        connection.request("POST", "/mutate", json.dumps(review(pod("one"))), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()
