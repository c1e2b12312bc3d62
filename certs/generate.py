"""Make throwaway certificates for the demo and for `make serve`: ca.crt, tls.crt and tls.key beside this file.

The authority's key is never written: another run makes another authority. Good certificates are kept unless `--force`
is given.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

from webhook.pki import Authority

FOLDER = Path(__file__).parent
HOSTS = ("localhost", "127.0.0.1", "::1", "gpushare-webhook.gpushare-webhook.svc")
LIFETIME = timedelta(days=30)
FILES = ("ca.crt", "tls.crt", "tls.key")


def main() -> None:
    """Write the files, or say that they are still good."""
    now = datetime.now(UTC)
    if "--force" not in sys.argv and _still_good(now):
        return
    authority = Authority.create("gpushare-webhook development", now, LIFETIME)
    leaf = authority.sign(HOSTS, now, LIFETIME)
    for name, content in zip(FILES, (authority.bundle(), leaf.certificate, leaf.key), strict=True):
        _write(FOLDER / name, content)
    sys.stdout.write(f"certificates for {', '.join(HOSTS[:2])} are in {FOLDER.name}/, for {LIFETIME.days} days\n")


def _still_good(now: datetime) -> bool:
    """Whether the files are there, belong together and last for another day."""
    try:
        ca, leaf, key = (FOLDER.joinpath(name).read_bytes() for name in FILES)
        certificate = x509.load_pem_x509_certificate(leaf)
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(ca))
        private = serialization.load_pem_private_key(key, password=None)
    except (OSError, ValueError, TypeError, InvalidSignature):
        return False
    belongs = certificate.public_key() == private.public_key()
    return belongs and certificate.not_valid_after_utc > now + timedelta(days=1)


def _write(file: Path, content: bytes) -> None:
    """Write the whole file or nothing, readable by its owner only."""
    fresh = file.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    fresh.replace(file)


main()
