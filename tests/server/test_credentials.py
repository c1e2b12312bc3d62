"""What is shown in handshakes when certificates come from two sides: from files, and from a keeper that signs them."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from tests.server.certificates import HOSTS, Certificates
from tests.server.within import Running, running
from webhook.pki import Authority, Leaf

HOUR = timedelta(hours=1)


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    """The file of an authority of callers."""
    file = tmp_path / "clients.crt"
    file.write_bytes(Authority.create("clients", datetime.now(UTC), HOUR).bundle())
    return file


def signed(now: datetime) -> Leaf:
    return Authority.create("new", now, 4 * HOUR).sign(HOSTS, now, HOUR)


async def shows(server: Running, leaf: Leaf) -> bool:
    """Whether a new connection is shown this leaf."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # what is shown matters, whoever vouches for it
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    with await server.ask(server.client.connect, trust) as connection:
        shown: bytes = connection.getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(shown) == x509.load_pem_x509_certificate(leaf.certificate)


@pytest.mark.parametrize("away", [timedelta(days=-3), timedelta(), timedelta(days=3)])
async def test_a_leaf_that_is_presented_is_shown_whatever_the_clock_here_says(
    certificates: Certificates, away: timedelta
) -> None:
    async with running(certificates) as server:
        leaf = signed(datetime.now(UTC) + away)
        server.server.credentials.present(leaf.certificate, leaf.key)
        assert await shows(server, leaf)


async def test_a_leaf_that_is_presented_while_authorities_are_prepared_stays(
    certificates: Certificates, clients: Path
) -> None:
    async with running(certificates, f"tls: {{clientCA: '{clients}'}}") as server:
        (source,) = (one for one in server.server.credentials.sources() if one.what == "client CA")
        prepared = source.prepare(source.read())
        leaf = signed(datetime.now(UTC))
        server.server.credentials.present(leaf.certificate, leaf.key)
        source.take(prepared)
        assert await shows(server, leaf)


async def test_authorities_that_change_while_a_certificate_is_prepared_stay(
    certificates: Certificates, clients: Path
) -> None:
    async with running(certificates, f"tls: {{clientCA: '{clients}'}}") as server:
        sources = {source.what: source for source in server.server.credentials.sources()}
        prepared = sources["certificate"].prepare(sources["certificate"].read())
        other = Authority.create("others", datetime.now(UTC), HOUR).bundle()
        sources["client CA"].take(sources["client CA"].prepare(other))
        sources["certificate"].take(prepared)
        context = server.server.door.welcome.context
        assert context is not None
        assert [one["subject"] for one in context.get_ca_certs()] == [((("commonName", "others"),),)]
