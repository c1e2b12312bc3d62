"""What the Secret holds, written and read, whole and damaged."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from webhook.pki import Authority, authorities
from webhook.pki.authorities import SINCE, Authorities

NOW = datetime(2026, 11, 20, tzinfo=UTC)
DAY = timedelta(days=1)
ONE, TWO, THREE, FOUR = (Authority.create(name, NOW, DAY) for name in ("one", "two", "three", "four"))
EVERYTHING = Authorities(ONE, TWO, (THREE.certificate, FOUR.certificate), NOW)


def damaged(name: str, text: bytes | None) -> Authorities:
    """What is read when one of the texts is another."""
    secret = authorities.write(EVERYTHING, {})
    secret["data"].pop(name)
    if text is not None:
        secret["data"][name] = base64.b64encode(text).decode()
    return authorities.read(secret)


def same(one: Authorities, other: Authorities) -> bool:
    """Keys of equal value are different objects, so they are compared as text."""

    def texts(held: Authorities) -> Any:
        return authorities.write(held, {})

    return texts(one) == texts(other) and one.since == other.since and one.faults == other.faults


@pytest.mark.parametrize(
    "held",
    [
        Authorities(),
        Authorities(ONE),
        Authorities(None, ONE),
        Authorities(ONE, TWO),
        Authorities(ONE, None, (TWO.certificate,), NOW),
        EVERYTHING,
    ],
)
def test_write_read_round_trip(held: Authorities) -> None:
    found = authorities.read(authorities.write(held, {}))
    assert same(found, held)
    assert found.faults == ()


def test_write_keeps_foreign_data_and_annotations() -> None:
    secret = {
        "kind": "Secret",
        "immutable": False,
        "metadata": {"name": "x", "resourceVersion": "7", "annotations": {"theirs": "1", SINCE: "old"}},
        "data": {"theirs": "Zm9v", "ca-next.crt": "old", "ca-previous.crt": "old"},
    }
    written = authorities.write(Authorities(ONE), secret)
    assert written == {
        **secret,
        "metadata": {"name": "x", "resourceVersion": "7", "annotations": {"theirs": "1"}},
        "data": {
            "theirs": "Zm9v",
            "ca.crt": base64.b64encode(ONE.bundle()).decode(),
            "ca.key": base64.b64encode(ONE.key_pem()).decode(),
        },
    }


@pytest.mark.parametrize("secret", [{}, {"data": None, "metadata": {"annotations": None}}, {"data": {"ca.crt": ""}}])
def test_empty_secret_has_no_authorities_and_no_faults(secret: Any) -> None:
    assert authorities.read(secret) == Authorities()


def test_certificates_are_unique_and_current_first() -> None:
    held = Authorities(ONE, TWO, (THREE.certificate, ONE.certificate), NOW)
    assert held.certificates == (ONE.certificate, TWO.certificate, THREE.certificate)


RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
RSA_PEM = RSA.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
LEAF = ONE.sign(["a.example.com"], NOW, DAY)
TORN = ONE.bundle()[:200] + ONE.bundle()[230:]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("ca.crt", None, "the certificate cannot be used"),
        ("ca.crt", b"rubbish", "the certificate cannot be used"),
        ("ca.crt", TORN, "the certificate cannot be used"),
        ("ca.crt", b"\xff\xfe\x00", "the certificate cannot be used"),
        ("ca.crt", LEAF.certificate, "the certificate cannot be used"),
        ("ca.crt", THREE.bundle(), "the key does not belong to the certificate"),
        ("ca.key", None, "the key cannot be used"),
        ("ca.key", b"rubbish", "the key cannot be used"),
        ("ca.key", THREE.key_pem(), "the key does not belong to the certificate"),
        ("ca.key", RSA_PEM, "the key is not an elliptic curve key"),
    ],
)
def test_damaged_authority_leaves_others_usable(name: str, text: bytes | None, says: str) -> None:
    found = damaged(name, text)
    assert found.current is None
    assert found.successor is not None
    assert found.predecessors[-2:] == EVERYTHING.predecessors
    assert len(found.faults) == 1
    assert found.faults[0].startswith(f"ca.crt and ca.key: {says}")


def test_authority_without_key_becomes_predecessor() -> None:
    assert damaged("ca.key", b"").predecessors == (ONE.certificate, THREE.certificate, FOUR.certificate)
    assert damaged("ca-next.key", b"").predecessors == (TWO.certificate, THREE.certificate, FOUR.certificate)


@pytest.mark.parametrize("text", [b"rubbish", THREE.bundle() + TORN, THREE.bundle() + b"\n", THREE.bundle()[:-5]])
def test_changed_predecessors_are_a_fault(text: bytes) -> None:
    found = damaged("ca-previous.crt", text)
    assert found.faults[0] == "ca-previous.crt: has been changed"
    assert set(found.predecessors) <= {THREE.certificate}
    assert found.current is not None


@pytest.mark.parametrize("since", [None, "", "yesterday", "2026-11-20T00:00:00"])
def test_missing_predecessor_time_is_a_fault(since: str | None) -> None:
    secret = authorities.write(EVERYTHING, {})
    secret["metadata"]["annotations"] = {} if since is None else {SINCE: since}
    found = authorities.read(secret)
    assert found.faults == (f"annotation {SINCE}: not a time",)
    assert found.predecessors == EVERYTHING.predecessors


def test_removed_predecessors_are_a_fault() -> None:
    found = damaged("ca-previous.crt", None)
    assert (found.predecessors, found.faults) == ((), ("ca-previous.crt: missing",))
    assert damaged("ca-previous.crt", b"").faults == found.faults
