"""The review listener speaks TLS 1.3, or 1.2 by setting, and never resumes a session."""

from __future__ import annotations

import ssl

import pytest

from tests.server.certificates import Certificates
from tests.server.client import Client, reply, request
from tests.server.reviews import pod, review
from tests.server.within import running

OLDER = "tls: {minVersion: '1.2'}"

NO_COMMON_GROUND = r"PROTOCOL_VERSION|HANDSHAKE_FAILURE|EOF"
"""How a client sees the rejection: by an alert, or only by the close, if asyncio closes before it flushes one."""


def only_1_2(certificates: Certificates, ciphers: str = "ECDHE+AESGCM") -> ssl.SSLContext:
    """A client that speaks TLS 1.2 and nothing newer."""
    context = certificates.trust()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
    return context


def test_tls_1_3_by_default(client: Client) -> None:
    with client.connect() as connection:
        assert connection.version() == "TLSv1.3"


def test_tls_1_2_is_rejected_by_default(client: Client, certificates: Certificates) -> None:
    with pytest.raises(ssl.SSLError, match=NO_COMMON_GROUND):
        client.connect(only_1_2(certificates))


def test_chain_verifies_for_host_name_only(client: Client, certificates: Certificates) -> None:
    with client.connect() as connection:
        certificate = connection.getpeercert()
    assert certificate is not None
    assert ("DNS", "localhost") in certificate["subjectAltName"]
    with pytest.raises(ssl.SSLCertVerificationError):
        client.connect(ssl.create_default_context())


def test_alpn_selects_http_1_1(client: Client, certificates: Certificates) -> None:
    offering = certificates.trust()
    offering.set_alpn_protocols(["h2", "http/1.1"])
    with client.connect(offering) as connection:
        assert connection.selected_alpn_protocol() == "http/1.1"


def test_no_session_tickets(client: Client) -> None:
    with client.connect() as connection:
        connection.sendall(request("POST", "/mutate"))
        reply(connection)  # a ticket would arrive first
        assert connection.session is None or not connection.session.has_ticket
        assert not connection.session_reused


@pytest.mark.parametrize("ciphers", ["ECDHE+AESGCM", "ECDHE+CHACHA20"])
async def test_tls_1_2_by_setting_uses_aead_cipher_suites(certificates: Certificates, ciphers: str) -> None:
    async with running(certificates, OLDER) as server:
        with await server.ask(server.client.connect, only_1_2(certificates, ciphers)) as connection:
            assert connection.version() == "TLSv1.2"
            name, _, _ = connection.cipher()
            assert "GCM" in name or "CHACHA20" in name
        with await server.ask(server.client.connect, certificates.trust()) as connection:
            assert connection.version() == "TLSv1.3"


@pytest.mark.parametrize("ciphers", ["ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA384"])
async def test_tls_1_2_rejects_other_cipher_suites(certificates: Certificates, ciphers: str) -> None:
    async with running(certificates, OLDER) as server:
        with pytest.raises(ssl.SSLError, match=NO_COMMON_GROUND):
            await server.ask(server.client.connect, only_1_2(certificates, ciphers))
        assert (await server.ask(server.client.review, "/mutate", review(pod()))).status == 200


async def test_tls_1_2_does_not_resume_sessions(certificates: Certificates) -> None:
    async with running(certificates, OLDER) as server:
        trust = only_1_2(certificates)
        with await server.ask(server.client.connect, trust) as first:
            session = first.session
            assert session is not None
            assert not session.has_ticket
        with await server.ask(server.client.connect, trust, session) as second:
            assert not second.session_reused
