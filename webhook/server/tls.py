"""The TLS context of the review listener, from certificate and key files."""

from __future__ import annotations

import ssl
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from webhook.settings.process import Tls


class CertificateError(Exception):
    """The certificate or key cannot be used. The message says which, and why."""


def context(tls: Tls) -> ssl.SSLContext:
    """A server context: HTTP/1.1 only, no session tickets. Raises CertificateError."""
    if not tls.cert_file or not tls.key_file:
        raise CertificateError(
            "no certificate: give --tls-cert and --tls-key, or tls.certFile and tls.keyFile in the settings"
        )
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2 if tls.min_version == "1.2" else ssl.TLSVersion.TLSv1_3
    made.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    made.num_tickets = 0  # the same for TLS 1.3: a resumed session would skip the check of a client's certificate
    made.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
    # The API server speaks HTTP/1.1 to webhooks on purpose (kubernetes/kubernetes#75791).
    made.set_alpn_protocols(["http/1.1"])
    _check_pair(tls.cert_file, tls.key_file)
    try:
        made.load_cert_chain(tls.cert_file, tls.key_file)
    except ssl.SSLError as error:
        reason = (error.reason or "unknown").replace("_", " ").lower()
        raise CertificateError(f"{tls.cert_file}: OpenSSL does not take it: {reason}") from None
    return made


def _check_pair(cert_file: str, key_file: str) -> None:
    """See what is wrong with the files before OpenSSL does, which does not say which of them it means."""
    certificate, key = _bytes(cert_file), _bytes(key_file)
    try:
        leaf = x509.load_pem_x509_certificates(certificate)[0]
    except ValueError:
        raise CertificateError(f"{cert_file}: holds no certificate in PEM") from None
    try:
        private = serialization.load_pem_private_key(key, password=None)
    except TypeError:
        raise CertificateError(f"{key_file}: is encrypted; give the key without a passphrase") from None
    except (ValueError, UnsupportedAlgorithm):
        raise CertificateError(f"{key_file}: holds no private key in PEM") from None
    if leaf.public_key() != private.public_key():
        raise CertificateError(f"{key_file}: is not the key of the certificate in {cert_file}")


def expiry(file: str) -> float:
    """When the leaf in a file ends, as Unix time."""
    return x509.load_pem_x509_certificates(Path(file).read_bytes())[0].not_valid_after_utc.timestamp()


def _bytes(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise CertificateError(f"{file}: {error.strerror}") from None
