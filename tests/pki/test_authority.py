"""The authority and its certificates, as the verifiers of other projects see them."""

from __future__ import annotations

import inspect
import ipaddress
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from webhook.pki import Authority, ServingCertificate
from webhook.pki.authorities import DamagedError

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
HOSTS = ("gpushare-webhook.gpushare.svc", "127.0.0.1", "::1")


P256 = ec.SECP256R1()


def usage(*purposes: str) -> x509.KeyUsage:
    """What a key may be used for."""
    every = inspect.signature(x509.KeyUsage).parameters
    return x509.KeyUsage(**{purpose: purpose in purposes for purpose in every})


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.create("gpushare-webhook", NOW, 10 * DAY)


@pytest.fixture(scope="module")
def leaf(authority: Authority) -> ServingCertificate:
    return authority.sign(HOSTS, NOW, DAY)


def verify(authority: Authority, leaf: ServingCertificate, host: x509.GeneralName, at: datetime) -> None:
    """Verify as Go and browsers do: by RFC 5280 and the rules of the CA/Browser Forum."""
    roots = Store([x509.load_pem_x509_certificate(authority.bundle())])
    assert isinstance(host, x509.DNSName | x509.IPAddress)
    verifier = PolicyBuilder().store(roots).time(at).build_server_verifier(host)
    verifier.verify(x509.load_pem_x509_certificate(leaf.certificate), [])


SERVICE = x509.DNSName(HOSTS[0])


@pytest.mark.parametrize(
    "host", [SERVICE, x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.IPAddress(ipaddress.ip_address("::1"))]
)
def test_certificate_verifies_for_its_hosts(
    authority: Authority, leaf: ServingCertificate, host: x509.GeneralName
) -> None:
    verify(authority, leaf, host, NOW + timedelta(hours=1))


def test_certificate_does_not_verify_with_other_authority(leaf: ServingCertificate) -> None:
    with pytest.raises(VerificationError):
        verify(Authority.create("gpushare-webhook", NOW, DAY), leaf, SERVICE, NOW)


@pytest.mark.parametrize(
    ("after", "valid"),
    [
        (timedelta(minutes=-31), False),
        (timedelta(minutes=-29), True),  # clocks may be behind
        (DAY - timedelta(minutes=1), True),
        (DAY + timedelta(minutes=1), False),
    ],
)
def test_certificate_validity_period(
    authority: Authority, leaf: ServingCertificate, after: timedelta, valid: bool
) -> None:
    try:
        verify(authority, leaf, SERVICE, NOW + after)
    except VerificationError:
        assert not valid
    else:
        assert valid


def test_certificate_extensions_are_those_of_a_server(leaf: ServingCertificate) -> None:
    certificate = x509.load_pem_x509_certificate(leaf.certificate)
    extensions = certificate.extensions
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    usage = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [HOSTS[0]]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_authority_extensions_forbid_intermediates(authority: Authority) -> None:
    extensions = authority.certificate.extensions
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    assert extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


def test_keys_are_unique_and_p256(authority: Authority, leaf: ServingCertificate) -> None:
    key = load_pem_private_key(leaf.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert key.public_key() == x509.load_pem_x509_certificate(leaf.certificate).public_key()
    assert authority.sign(HOSTS, NOW, DAY).key != leaf.key
    assert b"PRIVATE" not in authority.bundle()


OPENSSL: list[tuple[x509.ExtensionType, bool]] = [
    (x509.BasicConstraints(ca=True, path_length=None), True),
    (usage("key_cert_sign", "crl_sign"), True),
]
"""What `openssl req -x509 -addext keyUsage=critical,keyCertSign,cRLSign` writes beside the identifiers of the key."""


def supplied(
    extensions: list[tuple[x509.ExtensionType, bool]] = OPENSSL,
    subject: str = "CN=mine",
    curve: ec.EllipticCurve = P256,
    begins: datetime = NOW,
    lives: timedelta = 10 * DAY,
) -> Authority:
    """An authority that another program made."""
    key, name = ec.generate_private_key(curve), x509.Name.from_rfc4514_string(subject)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    for extension, critical in [(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False), *extensions]:
        builder = builder.add_extension(extension, critical)
    return Authority(builder.not_valid_before(begins).not_valid_after(begins + lives).sign(key, SHA256()), key)


@pytest.mark.parametrize(
    "made",
    [
        supplied(),
        supplied([(x509.BasicConstraints(ca=True, path_length=0), True), OPENSSL[1]]),
        supplied([OPENSSL[0], (usage("key_cert_sign", "digital_signature"), False)]),
        supplied(curve=ec.SECP384R1()),
        supplied(begins=NOW - 900 * DAY),
        supplied(begins=NOW + 900 * DAY),
    ],
)
def test_read_accepts_foreign_authority_whose_certificates_verify(made: Authority) -> None:
    read = Authority.read(made.bundle(), made.key_pem())
    begins = read.certificate.not_valid_before_utc
    verify(read, read.sign(HOSTS, begins + DAY, DAY), SERVICE, begins + DAY)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (supplied(OPENSSL[:1]), "missing required extension"),  # what `openssl req -x509` writes by default
        (supplied(OPENSSL[1:]), "missing required extension"),
        (supplied([OPENSSL[0], (usage("digital_signature"), True)]), "keyUsage.keyCertSign"),
        (supplied([(OPENSSL[0][0], False), OPENSSL[1]]), "incorrect criticality"),
        (supplied([(x509.BasicConstraints(ca=False, path_length=None), True), OPENSSL[1]]), "cA"),
        (supplied(subject=""), "subject"),
        (supplied(curve=ec.SECP256K1()), "Forbidden public key algorithm"),
        (supplied([*OPENSSL, (x509.NameConstraints([x509.DNSName("example.com")], None), True)]), "permitted name"),
        (
            supplied(begins=datetime(9999, 12, 31, 23, 40, tzinfo=UTC), lives=timedelta(minutes=9)),
            "date value out of range",
        ),
    ],
)
def test_read_rejects_authority_whose_certificates_do_not_verify(made: Authority, says: str) -> None:
    with pytest.raises(DamagedError, match=f"clients reject what the certificate signs .*{says}"):
        Authority.read(made.bundle(), made.key_pem())


def test_sign_long_host_name(authority: Authority) -> None:
    long = f"{'a' * 60}.{'b' * 60}.svc"
    verify(authority, authority.sign([long], NOW, DAY), x509.DNSName(long), NOW)


def test_openssl_verifies_chain(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    authority = Authority.create("gpushare-webhook", now, DAY)
    leaf = authority.sign(HOSTS, now, DAY)
    (tmp_path / "ca.crt").write_bytes(authority.bundle())
    (tmp_path / "tls.crt").write_bytes(leaf.certificate)
    checks = ["-x509_strict", "-purpose", "sslserver", "-verify_hostname", HOSTS[0]]
    command = ["openssl", "verify", "-CAfile", str(tmp_path / "ca.crt"), *checks, str(tmp_path / "tls.crt")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stdout) == (0, f"{tmp_path}/tls.crt: OK\n")
