"""A registry on loopback, with TLS by an authority that only the rehearsal trusts."""

from __future__ import annotations

import json
import ssl
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from webhook.pki import Authority

if TYPE_CHECKING:
    from tests.cluster.harness.place import Place
    from tests.cluster.harness.process import Process

SYSTEM = Path("/etc/ssl/certs/ca-certificates.crt")
"""The authorities that this machine trusts (package ca-certificates)."""

_LIFETIME = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry's content in a folder, which a process in each network serves at the same address."""

    folder: Path
    port: int

    @property
    def address(self) -> str:
        """Host and port. Each network has its own loopback, so that the address stays the same in the cluster's."""
        return f"localhost:{self.port}"

    @property
    def authority(self) -> Path:
        """The certificate that signs the registry's."""
        return self.folder / "authority.pem"

    @property
    def trusted(self) -> Path:
        """The certificates of this machine and the registry's, for `SSL_CERT_FILE`."""
        return self.folder / "trusted.pem"

    def serve(self, place: Place) -> Process:
        """Serve the content in a place until the place closes, and wait for the first answer."""
        process = place.start("registry", ["docker-registry", "serve", str(self.folder / "config.json")])
        trusted = ssl.create_default_context(cafile=self.authority)

        def answers() -> bool:
            try:
                with (
                    place.connect("127.0.0.1", self.port, 5) as plain,
                    trusted.wrap_socket(plain, server_hostname="localhost") as secured,
                ):
                    secured.sendall(b"GET /v2/ HTTP/1.0\r\n\r\n")
                    return b" 200 " in secured.recv(100)
            except OSError:
                return False

        process.wait_until("the registry answers", answers)
        return process

    def get(self, path: str, accept: str = "*/*") -> bytes:
        """The content of a path below `/v2/`, in this machine's network. Raises `URLError`."""
        return self._send("GET", path, {"Accept": accept}, None)

    def put(self, path: str, body: bytes, kind: str) -> None:
        """Store a manifest. Raises `URLError`."""
        self._send("PUT", path, {"Content-Type": kind}, body)

    def _send(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> bytes:
        url = f"https://{self.address}/v2/{path}"
        request = urllib.request.Request(url, data=body, headers=headers, method=method)
        context = ssl.create_default_context(cafile=self.authority)
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:  # noqa: S310
            content: bytes = answer.read()
        return content


def create(folder: Path, port: int) -> Registry:
    """Make the folder of an empty registry, with its certificate and its configuration."""
    folder.mkdir()
    now = datetime.now(UTC)
    authority = Authority.create("rehearsal", now, _LIFETIME)
    serving = authority.sign(["localhost", "127.0.0.1"], now, _LIFETIME)
    (folder / "tls.crt").write_bytes(serving.certificate)
    (folder / "tls.key").write_bytes(serving.key)
    made = Registry(folder, port)
    made.authority.write_bytes(authority.bundle())
    made.trusted.write_bytes(SYSTEM.read_bytes() + authority.bundle())
    certificate = {"certificate": str(folder / "tls.crt"), "key": str(folder / "tls.key")}
    config = {
        "version": 0.1,
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "content")}},
        "http": {"addr": f"127.0.0.1:{port}", "tls": certificate, "secret": "one process at a time takes uploads"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    return made
