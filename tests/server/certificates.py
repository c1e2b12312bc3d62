"""Certificates for servers under test."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

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
