"""Clients of a server that asks for client certificates."""

from __future__ import annotations

import json
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.server.certificates import Certificates, client_certificate
from webhook.pki import Authority


@dataclass(frozen=True, slots=True)
class Callers:
    """An authority of callers and its files in a folder."""

    authority: Authority
    folder: Path

    @classmethod
    def of(cls, folder: Path, name: str) -> Callers:
        """Make an authority of this name."""
        authority = Authority.create(name, datetime.now(UTC), timedelta(hours=1))
        (folder / "clients.crt").write_bytes(authority.bundle())
        return cls(authority, folder)

    def settings(self, *subjects: str, **limits: object) -> list[str]:
        """Settings under which these may call."""
        file = self.folder / "settings.yaml"
        own = {"clientCA": str(self.folder / "clients.crt"), "clientSubjects": subjects}
        file.write_text(json.dumps({"server": {"shutdownDelay": "0s", **limits}, "tls": own}))
        return ["--config", str(file)]

    def called(self, name: str, certificates: Certificates) -> ssl.SSLContext:
        """A client with a certificate of this common name."""
        file = self.folder / f"{name}.pem"
        file.write_bytes(client_certificate(self.authority, name))
        context = certificates.trust()
        context.load_cert_chain(file)
        return context
