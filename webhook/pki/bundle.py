"""Bundles: certificates of authorities in one PEM text, as a `caBundle` holds them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
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
"""What comes of a certificate that somebody damaged, early or late: some of it is parsed only when it is asked for."""

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----(?:(?!-----BEGIN).)+?-----END CERTIFICATE-----", re.DOTALL)


def read(pem: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates in a text, each once. What is damaged is passed over, as the API server does (Go's CertPool)."""
    found = (_certificate(block) for block in _BLOCK.findall(pem))
    return tuple(dict.fromkeys(certificate for certificate in found if certificate is not None))


def render(certificates: Iterable[x509.Certificate]) -> bytes:
    """The text that holds these certificates, each once, in their order."""
    once = dict.fromkeys(certificates)
    return b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in once)


def verifies(roots: Iterable[x509.Certificate], leaf: x509.Certificate, host: str, now: datetime) -> bool:
    """Whether one of these authorities vouches for a server's leaf: chain, host name and validity of both."""
    return any(refusal(root, leaf, host, now) is None for root in roots)


def refusal(root: x509.Certificate, leaf: x509.Certificate, host: str, now: datetime) -> str | None:
    """Why an authority does not vouch for a server's leaf; None where it does."""
    try:
        verifier = PolicyBuilder().store(Store([root])).time(now).build_server_verifier(x509.DNSName(host))
        verifier.verify(leaf, [])
    except (VerificationError, *UNREADABLE) as error:
        return str(error) or type(error).__name__
    return None


def valid(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether a certificate is in its time."""
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


def _certificate(block: bytes) -> x509.Certificate | None:
    try:
        with warnings.catch_warnings(action="ignore"):  # of serial numbers that will be refused some day
            return x509.load_pem_x509_certificate(block)
    except UNREADABLE:
        return None
