"""Bundles: read with damage passed over, written each once, and asked whether they verify."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from webhook.pki import Authority, bundle

NOW = datetime(2026, 11, 20, tzinfo=UTC)
DAY = timedelta(days=1)
ONE, TWO = Authority.create("same name", NOW, 10 * DAY), Authority.create("same name", NOW, 10 * DAY)
HOST = "guard.gpu.svc"
LEAF = x509.load_pem_x509_certificate(ONE.sign([HOST], NOW, DAY).certificate)
TORN = ONE.bundle().replace(b"A", b"", 3)


def test_what_is_damaged_is_passed_over() -> None:
    text = b"a word\n" + TORN + ONE.bundle() + b"\n\n" + TWO.bundle()[:50] + b"\xff" + TWO.bundle() + ONE.bundle()
    assert bundle.read(text) == (ONE.certificate, TWO.certificate)
    assert bundle.render(bundle.read(text)) == ONE.bundle() + TWO.bundle()


@given(st.binary())
def test_any_text_can_be_read(text: bytes) -> None:
    assert bundle.read(text) == ()
    assert ONE.certificate in bundle.read(text + b"\n" + ONE.bundle())


def test_one_of_several_authorities_of_the_same_name_is_enough() -> None:
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
def test_name_and_time_have_to_be_right(host: str, after: timedelta, verified: bool) -> None:
    assert bundle.verifies([ONE.certificate], LEAF, host, NOW + after) is verified


def test_a_leaf_ends_with_its_authority() -> None:
    leaf = x509.load_pem_x509_certificate(ONE.sign([HOST], NOW + 9 * DAY, 7 * DAY).certificate)
    assert leaf.not_valid_after_utc == ONE.certificate.not_valid_after_utc
    assert not bundle.verifies([ONE.certificate], leaf, HOST, NOW + 10 * DAY + timedelta(seconds=1))
