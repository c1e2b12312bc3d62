"""Certificates in handshakes: read from files, or installed by a keeper that signs them."""

from __future__ import annotations

import errno
import os
import re
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import pytest
from cryptography import x509

from tests.server.certificates import HOSTS, Certificates
from tests.server.within import Running, configuration, running
from webhook.diagnostics import InputError
from webhook.pki import Authority, ServingCertificate
from webhook.server.metrics import Metrics
from webhook.server.tls import Credentials

HOUR = timedelta(hours=1)


class Endpoint:
    """Keeps the contexts that handshakes are served with."""

    def __init__(self) -> None:
        self.contexts: list[ssl.SSLContext] = []

    def use_tls(self, context: ssl.SSLContext) -> None:
        self.contexts.append(context)


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    """The file of a client CA."""
    file = tmp_path / "clients.crt"
    file.write_bytes(Authority.create("clients", datetime.now(UTC), HOUR).bundle())
    return file


def signed(now: datetime) -> ServingCertificate:
    return Authority.create("new", now, 4 * HOUR).sign(HOSTS, now, HOUR)


async def shows(server: Running, leaf: ServingCertificate) -> bool:
    """Whether a new connection gets this certificate."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the certificate matters here, not its authority
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    with await server.ask(server.client.connect, trust) as connection:
        shown: bytes = connection.getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(shown) == x509.load_pem_x509_certificate(leaf.certificate)


@pytest.mark.parametrize("away", [timedelta(days=-3), timedelta(), timedelta(days=3)])
async def test_installed_certificate_ignores_local_clock(certificates: Certificates, away: timedelta) -> None:
    async with running(certificates) as server:
        leaf = signed(datetime.now(UTC) + away)
        server.server.credentials.install(leaf.certificate, leaf.key)
        assert await shows(server, leaf)


async def test_certificate_installed_during_client_ca_reload_stays(certificates: Certificates, clients: Path) -> None:
    async with running(certificates, f"tls: {{clientCA: '{clients}'}}") as server:
        (source,) = (one for one in server.server.credentials.sources() if one.what == "client CA")
        prepared = source.prepare(source.read())
        leaf = signed(datetime.now(UTC))
        server.server.credentials.install(leaf.certificate, leaf.key)
        await source.take(prepared)
        assert await shows(server, leaf)


async def test_client_ca_changed_during_certificate_reload_stays(certificates: Certificates, clients: Path) -> None:
    endpoint = Endpoint()
    tls = configuration(f"tls: {{clientCA: '{clients}'}}", certificates).tls
    sources = {source.what: source for source in Credentials(tls, endpoint.use_tls, Metrics()).sources()}
    prepared = sources["certificate"].prepare(sources["certificate"].read())
    other = Authority.create("others", datetime.now(UTC), HOUR).bundle()
    await sources["client CA"].take(sources["client CA"].prepare(other))
    await sources["certificate"].take(prepared)
    assert [one["subject"] for one in endpoint.contexts[-1].get_ca_certs()] == [((("commonName", "others"),),)]


NO_MEMORY = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


@pytest.mark.parametrize(
    ("function", "error", "said"),
    [
        ("os.memfd_create", NO_MEMORY, "the certificate: cannot be used: Cannot allocate memory"),
        ("os.fdopen", OSError(errno.EMFILE, "Too many open files"), "the certificate: cannot be used: Too many open"),
        (
            "ssl.SSLContext.load_cert_chain",
            ssl.SSLError(1, "[SSL] malloc failure"),
            "the certificate: OpenSSL rejects it",
        ),
        ("ssl.SSLContext.__new__", ssl.SSLError(1, "[SSL] no context"), "the TLS context: OpenSSL rejects it"),
        ("ssl.SSLContext.load_cert_chain", MemoryError(), ""),
    ],
)
async def test_install_failure_keeps_old_certificate(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, function: str, error: Exception, said: str
) -> None:
    """Each call that needs memory or a file raises; `tests/pki/exhausted.py` makes one fail for real."""

    def failing(*_: Any, **__: Any) -> NoReturn:
        raise error

    async with running(certificates) as server:
        before = signed(datetime.now(UTC))
        server.server.credentials.install(before.certificate, before.key)
        leaf = signed(datetime.now(UTC))
        with monkeypatch.context() as patched:
            patched.setattr(function, failing)
            with pytest.raises((InputError, MemoryError), match=f"^{re.escape(said)}"):
                server.server.credentials.install(leaf.certificate, leaf.key)
        assert await shows(server, before)
        server.server.credentials.install(leaf.certificate, leaf.key)
        assert await shows(server, leaf)


async def test_system_error_makes_files_unusable(
    certificates: Certificates, clients: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This is no internal error: the failure is logged, and the next reload retries."""

    def failing(*_: Any) -> NoReturn:
        raise NO_MEMORY

    async with running(certificates, f"tls: {{clientCA: '{clients}'}}") as server:
        for source in server.server.credentials.sources():
            prepared = source.prepare(source.read())
            with monkeypatch.context() as patched:
                patched.setattr("os.memfd_create", failing)
                with pytest.raises(InputError, match=r"Cannot allocate memory$"):
                    await source.take(prepared)
