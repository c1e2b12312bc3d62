"""Create throwaway certificates for the demo and `make serve`: ca.crt, tls.crt and tls.key in this folder.

The CA key is never written, so another run creates another CA. Certificates that are still good are kept unless
`--force` is given.
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
    """Write the files unless they are still good."""
    now = datetime.now(UTC)
    if "--force" not in sys.argv and _still_good(now):
        return
    authority = Authority.create("gpushare-webhook development", now, LIFETIME)
    leaf = authority.sign(HOSTS, now, LIFETIME)
    for name, content in zip(FILES, (authority.bundle(), leaf.certificate, leaf.key), strict=True):
        _write(FOLDER / name, content)
    sys.stdout.write(f"certificates for {', '.join(HOSTS[:2])} are in {FOLDER.name}/, valid for {LIFETIME.days} days\n")


def _still_good(now: datetime) -> bool:
    """Return whether the files exist, belong together and are valid for another day."""
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
    """Write the whole file or nothing, readable only by its owner."""
    new = file.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    new.replace(file)


main()
