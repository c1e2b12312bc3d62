"""Bundles: damaged certificates are skipped, each is written once, and any of them verifies."""

from __future__ import annotations

import base64
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import example, given
from hypothesis import strategies as st

from webhook.pki import Authority, bundle
from webhook.pki.authorities import DamagedError

NOW = datetime(2026, 11, 20, tzinfo=UTC)
DAY = timedelta(days=1)
ONE, TWO = Authority.create("same name", NOW, 10 * DAY), Authority.create("same name", NOW, 10 * DAY)
HOST = "guard.gpu.svc"
LEAF = x509.load_pem_x509_certificate(ONE.sign([HOST], NOW, DAY).certificate)
DER = ONE.certificate.public_bytes(Encoding.DER)
TORN = ONE.bundle().replace(b"A", b"", 3)


def test_read_skips_damaged_certificates() -> None:
    text = b"a word\n" + TORN + ONE.bundle() + b"\n\n" + TWO.bundle()[:50] + b"\xff" + TWO.bundle() + ONE.bundle()
    assert bundle.read(text) == (ONE.certificate, TWO.certificate)
    assert bundle.render(bundle.read(text)) == ONE.bundle() + TWO.bundle()


@given(st.binary())
def test_read_accepts_any_bytes(text: bytes) -> None:
    assert bundle.read(text) == ()
    assert ONE.certificate in bundle.read(text + b"\n" + ONE.bundle())


@given(st.lists(st.tuples(st.integers(0, len(DER) - 1), st.integers(0, 255)), min_size=1, max_size=3))
@example([(12, 57)])  # another version
@example([(15, 0xFF)])  # a negative serial number
def test_damaged_certificate_never_raises(damage: list[tuple[int, int]]) -> None:
    der = bytearray(DER)
    for place, value in damage:
        der[place] = value
    pem = b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(bytes(der)) + b"-----END CERTIFICATE-----\n"
    found = bundle.read(pem)
    assert bundle.read(bundle.render(found)) == found
    assert bundle.verifies(found, LEAF, HOST, NOW) in (True, False)
    for certificate in found:
        assert bundle.valid(certificate, NOW) in (True, False)
    with suppress(DamagedError):
        assert Authority.read(pem, ONE.key_pem()).certificate in found


def test_verifies_with_any_of_several_authorities_of_same_name() -> None:
    both = [TWO.certificate, ONE.certificate]
    assert bundle.verifies(both, LEAF, HOST, NOW)
    assert bundle.verifies(reversed(both), LEAF, HOST, NOW)
    assert not bundle.verifies([TWO.certificate], LEAF, HOST, NOW)
    assert not bundle.verifies([], LEAF, HOST, NOW)


@pytest.mark.parametrize(
    ("host", "after", "verified"),
    [
        (HOST, timedelta(), True),
        ("other.gpu.svc", timedelta(), False),
        (HOST, -timedelta(hours=1), False),
        (HOST, DAY - timedelta(seconds=1), True),
        (HOST, DAY + timedelta(seconds=1), False),
    ],
)
def test_verifies_checks_host_and_validity(host: str, after: timedelta, verified: bool) -> None:
    assert bundle.verifies([ONE.certificate], LEAF, host, NOW + after) is verified


def test_certificate_ends_with_its_authority() -> None:
    leaf = x509.load_pem_x509_certificate(ONE.sign([HOST], NOW + 9 * DAY, 7 * DAY).certificate)
    assert leaf.not_valid_after_utc == ONE.certificate.not_valid_after_utc
    assert not bundle.verifies([ONE.certificate], leaf, HOST, NOW + 10 * DAY + timedelta(seconds=1))
