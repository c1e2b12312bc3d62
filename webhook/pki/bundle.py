"""Bundles: the certificates of authorities in one PEM text, as a `caBundle` holds them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

UNREADABLE: Final = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)
"""What a damaged certificate raises, when it is loaded or later: some of it is parsed only when it is accessed."""

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----(?:(?!-----BEGIN).)+?-----END CERTIFICATE-----", re.DOTALL)


def read(pem: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates in a text, each once. Damaged ones are skipped, as the API server does (Go's CertPool)."""
    certificates: dict[x509.Certificate, None] = {}
    for block in _BLOCK.findall(pem):
        # The warnings are about serial numbers that a later version will reject.
        with suppress(*UNREADABLE), warnings.catch_warnings(action="ignore"):
            certificates[x509.load_pem_x509_certificate(block)] = None
    return tuple(certificates)


def render(certificates: Iterable[x509.Certificate]) -> bytes:
    """The text of these certificates, each once, in their order."""
    once = dict.fromkeys(certificates)
    return b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in once)


def verifies(roots: Iterable[x509.Certificate], leaf: x509.Certificate, host: str, now: datetime) -> bool:
    """Whether one of these authorities verifies a server's certificate: chain, host name, and validity of both."""
    return any(rejection(root, leaf, host, now) is None for root in roots)


def rejection(root: x509.Certificate, leaf: x509.Certificate, host: str, now: datetime) -> str | None:
    """Why a client that trusts this authority rejects a server's certificate; None if it accepts the certificate."""
    try:
        verifier = PolicyBuilder().store(Store([root])).time(now).build_server_verifier(x509.DNSName(host))
        verifier.verify(leaf, [])
    except (VerificationError, *UNREADABLE) as error:
        return str(error) or type(error).__name__
    return None


def valid(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether a certificate has begun and not ended."""
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc
