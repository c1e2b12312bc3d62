"""Certificates for servers under test."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webhook.pki import Authority

HOSTS = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of an authority and of the leaf that it signed for loopback, and settings for an end without delay."""

    authority: Path
    certificate: Path
    key: Path
    settings: Path

    @property
    def options(self) -> list[str]:
        """The options of `serve` that name them."""
        return ["--tls-cert", str(self.certificate), "--tls-key", str(self.key)]

    @property
    def impatient(self) -> list[str]:
        """The options of `serve` that let it end without waiting for endpoints."""
        return ["--config", str(self.settings)]

    def trust(self) -> ssl.SSLContext:
        """What a client trusts: this authority and no other."""
        return ssl.create_default_context(cafile=str(self.authority))


def issue(folder: Path) -> Certificates:
    """Make an authority and a leaf in a folder."""
    now, lifetime = datetime.now(UTC), timedelta(hours=1)
    authority = Authority.create("test", now, lifetime)
    leaf = authority.sign(HOSTS, now, lifetime)
    made = Certificates(folder / "ca.crt", folder / "tls.crt", folder / "tls.key", folder / "settings.yaml")
    made.authority.write_bytes(authority.bundle())
    made.certificate.write_bytes(leaf.certificate)
    made.key.write_bytes(leaf.key)
    made.settings.write_text("server: {shutdownDelay: 0s}\n")
    return made


def client_certificate(authority: Authority, name: str) -> bytes:
    """A client's certificate and its key, as PEM."""
    now, key = datetime.now(UTC), ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8
    return certificate.public_bytes(pem) + key.private_bytes(pem, form, serialization.NoEncryption())


def of_an_unknown_kind() -> bytes:
    """A certificate whose public key names an unknown algorithm."""
    key, name, now = ed25519.Ed25519PrivateKey.generate(), x509.Name([]), datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = builder.not_valid_before(now).not_valid_after(now + timedelta(hours=1)).sign(key, None)
    known, unknown = (bytes.fromhex(f"302a300506032b65{last}032100") for last in ("70", "7f"))
    der = made.public_bytes(serialization.Encoding.DER)
    assert known in der
    return ssl.DER_cert_to_PEM_cert(der.replace(known, unknown)).encode()
