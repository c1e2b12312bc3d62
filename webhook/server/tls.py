"""TLS contexts of the review listener, made from bytes: what is read from files or signed in memory looks the same."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from webhook.diagnostics import Diagnostic, InputError
from webhook.settings.process import Tls

_TRIES = 5


class CertificateError(InputError):
    """A certificate or key that cannot be used. `source` names its file, or says what it is."""

    def __init__(self, source: str, message: str) -> None:
        super().__init__([Diagnostic(source, 0, 0, message)])


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with its chain and its key, both PEM. `source` and `key_source` name them in messages."""

    certificate: bytes
    key: bytes
    source: str = "the certificate"
    key_source: str = "its key"

    def leaf(self) -> x509.Certificate:
        """The first certificate. Raises CertificateError."""
        return _certificates(self.certificate, self.source)[0]


def read_pair(tls: Tls) -> Pair:
    """The certificate and key that the settings name. Raises CertificateError."""
    if not tls.cert_file or not tls.key_file:
        raise CertificateError(
            "no certificate", "give --tls-cert and --tls-key, or tls.certFile and tls.keyFile in the settings"
        )
    certificate = read(tls.cert_file)
    # The kubelet exchanges both files of a mounted Secret at once, but nobody can read both at once.
    for _ in range(_TRIES):
        key, again = read(tls.key_file), read(tls.cert_file)
        if again == certificate:
            break
        certificate = again
    return Pair(certificate, key, tls.cert_file, tls.key_file)


def read(file: str) -> bytes:
    """What a file holds. Raises CertificateError."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise CertificateError(file, error.strerror or str(error)) from None


def context(tls: Tls, pair: Pair, authorities: bytes | None) -> ssl.SSLContext:
    """A server context: HTTP/1.1 only, no session tickets. Raises CertificateError.

    `authorities` are those of client certificates, PEM; without them none are asked for.
    """
    with _refusing("the TLS context"):
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2 if tls.min_version == "1.2" else ssl.TLSVersion.TLSv1_3
    made.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    made.num_tickets = 0  # the same for TLS 1.3: a resumed session would skip the check of a client's certificate
    made.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
    # The API server speaks HTTP/1.1 to webhooks on purpose (kubernetes/kubernetes#75791).
    made.set_alpn_protocols(["http/1.1"])
    _check(pair)
    _load(made, pair)
    if authorities is not None:
        # As DER: OpenSSL takes PEM in ASCII only, and a comment between certificates may be anything.
        known = [one.public_bytes(serialization.Encoding.DER) for one in _certificates(authorities, str(tls.client_ca))]
        with _refusing(str(tls.client_ca)):
            made.load_verify_locations(cadata=b"".join(known))
        made.verify_mode = ssl.CERT_REQUIRED
    return made


def expiry(certificate: x509.Certificate) -> float:
    """When a certificate ends, as Unix time."""
    return certificate.not_valid_after_utc.timestamp()


def first_expiry(authorities: bytes, source: str) -> float:
    """When the first of several authorities ends, as Unix time. Raises CertificateError."""
    return min(map(expiry, _certificates(authorities, source)))


def _check(pair: Pair) -> None:
    """See what is wrong with the pair before OpenSSL does, which does not say which of the two it means."""
    with _refusing(pair.source):
        certified = pair.leaf().public_key()
    try:
        own = serialization.load_pem_private_key(pair.key, password=None).public_key()
    except TypeError:
        raise CertificateError(pair.key_source, "is encrypted; give the key without a passphrase") from None
    except (ValueError, UnsupportedAlgorithm):
        raise CertificateError(pair.key_source, "holds no private key in PEM") from None
    if certified != own:
        raise CertificateError(pair.key_source, f"is not the key of the certificate in {pair.source}")


def _load(made: ssl.SSLContext, pair: Pair) -> None:
    """Put the pair into a context. `ssl` takes files only; these are in memory, so that no key reaches a disk."""
    with _refusing(pair.source), _in_memory(pair.certificate) as certificate, _in_memory(pair.key) as key:
        made.load_cert_chain(certificate, key)


@contextmanager
def _refusing(source: str) -> Iterator[None]:
    """Say what OpenSSL, the system or the parser has against something as a CertificateError."""
    try:
        yield
    except ssl.SSLError as error:
        # Python sets no `reason` on errors that OpenSSL has none for (PyErr_SetString in CPython's Modules/_ssl.c).
        reason = (getattr(error, "reason", None) or error.strerror or "unknown").replace("_", " ").lower()
        raise CertificateError(source, f"OpenSSL does not take it: {reason}") from None
    except OSError as error:  # of the system, not of the bytes: no more files, no memory
        raise CertificateError(source, f"cannot be used: {error.strerror or error}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CertificateError(source, f"cannot be used: {error}") from None


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    descriptor = os.memfd_create("tls", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _certificates(pem: bytes, source: str) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except (ValueError, x509.InvalidVersion):
        raise CertificateError(source, "holds no certificate in PEM") from None
