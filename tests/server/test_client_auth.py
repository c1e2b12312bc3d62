"""Client certificates: required if the settings name an authority, and allowed by common name."""

from __future__ import annotations

import json
import signal
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.server.certificates import Certificates, client_certificate
from tests.server.client import Client, reply, request
from tests.server.process import Serve, run_serve, serve
from tests.server.reviews import pod, review
from webhook.pki import Authority

pytestmark = pytest.mark.slow

ASKED = request("POST", "/mutate", json.dumps(review(pod())).encode())


@dataclass(frozen=True, slots=True)
class ClientAuth:
    """An authority of callers and its files in a folder."""

    authority: Authority
    folder: Path

    def settings(self, *subjects: str) -> list[str]:
        """Settings under which these may call."""
        file = self.folder / "settings.yaml"
        own = {"clientCA": str(self.folder / "clients.crt"), "clientSubjects": subjects}
        file.write_text(json.dumps({"server": {"shutdownDelay": "0s"}, "tls": own}))
        return ["--config", str(file)]

    def called(self, name: str, certificates: Certificates) -> ssl.SSLContext:
        """A client with a certificate of this common name."""
        file = self.folder / f"{name}.pem"
        file.write_bytes(client_certificate(self.authority, name))
        context = certificates.trust()
        context.load_cert_chain(file)
        return context


@pytest.fixture
def callers(tmp_path: Path) -> ClientAuth:
    return made(tmp_path, "callers")


def made(folder: Path, name: str) -> ClientAuth:
    authority = Authority.create(name, datetime.now(UTC), timedelta(hours=1))
    (folder / "clients.crt").write_bytes(authority.bundle())
    return ClientAuth(authority, folder)


def ask(client: Client, context: ssl.SSLContext) -> int:
    """Ask with a client's certificate: the status of the answer."""
    with client.connect(context) as connection:
        connection.sendall(ASKED)
        return reply(connection).status


def test_missing_client_certificate_fails_handshake(certificates: Certificates, callers: ClientAuth) -> None:
    with serve(certificates, *callers.settings()) as server:
        assert is_shut_out(server.client, certificates.trust())
        assert server.client.health("/readyz").status == 200  # probes need none


def test_client_certificate_of_other_authority_fails_handshake(
    certificates: Certificates, callers: ClientAuth, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stranger = made(tmp_path_factory.mktemp("strangers"), "strangers")
    with serve(certificates, *callers.settings()) as server:
        assert is_shut_out(server.client, stranger.called("kube-apiserver", certificates))


def test_any_signed_client_is_allowed_without_subjects(certificates: Certificates, callers: ClientAuth) -> None:
    with serve(certificates, *callers.settings()) as server:
        assert ask(server.client, callers.called("anybody", certificates)) == 200


def test_only_listed_subjects_are_allowed(certificates: Certificates, callers: ClientAuth) -> None:
    with serve(certificates, *callers.settings("kube-apiserver", "second")) as server:
        assert ask(server.client, callers.called("kube-apiserver", certificates)) == 200
        assert ask(server.client, callers.called("second", certificates)) == 200
        with server.client.connect(callers.called("unlisted", certificates)) as connection:
            connection.sendall(ASKED)
            refused = reply(connection)
        assert (refused.status, refused.headers["connection"]) == (403, "close")
        assert refused.json()["reason"] == "Forbidden"
        assert refused.json()["message"] == "the common name of the client certificate is not in tls.clientSubjects"
        assert 'refused_requests_total{code="403"} 1.0' in server.client.health("/metrics").body.decode()


def test_client_ca_is_reloaded(
    certificates: Certificates, callers: ClientAuth, tmp_path_factory: pytest.TempPathFactory
) -> None:
    newer = made(tmp_path_factory.mktemp("newer"), "newer")
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


def test_unreadable_client_ca_prevents_start(certificates: Certificates, callers: ClientAuth) -> None:
    options = callers.settings()
    (callers.folder / "clients.crt").write_text("nothing")
    ended = run_serve(*certificates.options, *options, "--port", "0", "--health-port", "0")
    assert ended.returncode == 2
    assert ended.stderr == f"serve: {callers.folder / 'clients.crt'}: holds no certificate in PEM\n"


@pytest.mark.parametrize("comment", ["\ufeff", "# Prüfstelle der Clients\n"], ids=["a mark of UTF-8", "umlauts"])
def test_client_ca_may_contain_non_ascii_comments(
    certificates: Certificates, callers: ClientAuth, comment: str
) -> None:
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
