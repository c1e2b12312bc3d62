"""Client certificates: required if the settings name an authority, and allowed by common name."""

from __future__ import annotations

import json
import signal
import ssl
from pathlib import Path

import pytest

from tests.server.callers import Callers
from tests.server.certificates import Certificates
from tests.server.client import Client, reply, request
from tests.server.process import Serve, run_serve, serve
from tests.server.reviews import pod, review

pytestmark = pytest.mark.slow

ASKED = request("POST", "/mutate", json.dumps(review(pod())).encode())


@pytest.fixture
def callers(tmp_path: Path) -> Callers:
    return Callers.of(tmp_path, "callers")


def ask(client: Client, context: ssl.SSLContext) -> int:
    """Ask with a client's certificate: the status of the answer."""
    with client.connect(context) as connection:
        connection.sendall(ASKED)
        return reply(connection).status


def test_only_clients_of_authority_are_allowed(
    certificates: Certificates, callers: Callers, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stranger = Callers.of(tmp_path_factory.mktemp("strangers"), "strangers")
    with serve(certificates, *callers.settings()) as server:
        assert is_shut_out(server.client, certificates.trust())
        assert is_shut_out(server.client, stranger.called("kube-apiserver", certificates))
        assert ask(server.client, callers.called("anybody", certificates)) == 200
        assert server.client.health("/readyz").status == 200  # probes need no certificate


def test_only_listed_subjects_are_allowed(certificates: Certificates, callers: Callers) -> None:
    with serve(certificates, *callers.settings("kube-apiserver", "second")) as server:
        assert ask(server.client, callers.called("kube-apiserver", certificates)) == 200
        assert ask(server.client, callers.called("second", certificates)) == 200
        with server.client.connect(callers.called("unlisted", certificates)) as connection:
            connection.sendall(ASKED)
            refused = reply(connection)
        assert (refused.status, refused.headers["connection"]) == (403, "close")
        assert refused.json()["reason"] == "Forbidden"
        assert refused.json()["message"] == "the common name of the client certificate is not in tls.clientSubjects"
        assert 'refused_requests_total{code="403"} 1.0' in server.client.metrics()


def test_client_ca_is_reloaded(
    certificates: Certificates, callers: Callers, tmp_path_factory: pytest.TempPathFactory
) -> None:
    newer = Callers.of(tmp_path_factory.mktemp("newer"), "newer")
    known, unknown = callers.called("old", certificates), newer.called("new", certificates)
    with serve(certificates, *callers.settings()) as server:
        assert ask(server.client, known) == 200
        exchange(server, callers.folder, newer.authority.bundle())
        assert ask(server.client, unknown) == 200
        assert is_shut_out(server.client, known)


def exchange(server: Serve, folder: Path, bundle: bytes) -> None:
    """Exchange the authorities and wait until the server has taken them."""
    (folder / "new").write_bytes(bundle)
    (folder / "new").replace(folder / "clients.crt")
    server.process.send_signal(signal.SIGHUP)
    server.log.event("reloaded", what="client CA")


def test_unreadable_client_ca_prevents_start(certificates: Certificates, callers: Callers) -> None:
    options = callers.settings()
    (callers.folder / "clients.crt").write_text("nothing")
    ended = run_serve(*certificates.options, *options, "--port", "0", "--health-port", "0")
    assert ended.returncode == 2
    assert ended.stderr == f"serve: {callers.folder / 'clients.crt'}: holds no certificate in PEM\n"


@pytest.mark.parametrize("comment", ["\ufeff", "# Prüfstelle der Clients\n"], ids=["a mark of UTF-8", "umlauts"])
def test_client_ca_may_contain_non_ascii_comments(certificates: Certificates, callers: Callers, comment: str) -> None:
    file = callers.folder / "clients.crt"
    file.write_bytes(comment.encode() + file.read_bytes())
    with serve(certificates, *callers.settings()) as server:
        assert ask(server.client, callers.called("anybody", certificates)) == 200
        assert is_shut_out(server.client, certificates.trust())


def is_shut_out(client: Client, context: ssl.SSLContext) -> bool:
    """Whether the server ends the handshake, or the connection right after it: TLS 1.3 tells the client late."""
    try:
        with client.connect(context) as connection:
            connection.sendall(ASKED)
            return connection.recv(1) == b""
    except (ssl.SSLError, ConnectionError):
        return True
