"""Who would refuse a leaf."""

from __future__ import annotations

from datetime import datetime

from webhook.pki import bundle
from webhook.pki.configuration import Configuration
from webhook.pki.rotation import Served


def distrusting(configurations: tuple[Configuration, ...], served: Served, host: str, now: datetime) -> list[str]:
    """The entries whose `caBundle` does not verify the leaf for this host, by path and name."""
    return [
        f"{found.path} {entry.name}"
        for found in configurations
        for entry in found.entries
        if not bundle.verifies(bundle.read(entry.bundle), served.certificate, host, now)
    ]
