"""The address of a running webhook, and the certificates by which both sides know each other."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from webhook.diagnostics import Diagnostic, InputError
from webhook.policy.printable import printable


@dataclass(frozen=True, slots=True)
class Address:
    """The host and port of a review listener. `server_name` is the name that its certificate must be for."""

    host: str
    port: int
    server_name: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{printable(host)}:{self.port}"


@dataclass(frozen=True, slots=True)
class Trust:
    """Files in PEM: the authorities that may sign the server's certificate, and the client's own certificate and key.

    Without `ca`, the authorities of the system count.
    """

    ca: str | None = None
    client_cert: str | None = None
    client_key: str | None = None

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of a client, which verifies chain and name. Raises InputError."""
        context = ssl.create_default_context()
        if self.ca is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            try:
                context.load_verify_locations(cafile=self.ca)
            except (OSError, ValueError) as error:
                raise _unusable(self.ca, error, "name a file of certificates in PEM") from None
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.client_cert is not None:
            try:
                # The password is empty so that an encrypted key is an error, and OpenSSL does not prompt for it.
                context.load_cert_chain(self.client_cert, self.client_key, password="")
            except (OSError, ValueError) as error:
                files = self.client_cert if self.client_key is None else f"{self.client_cert}, {self.client_key}"
                raise _unusable(files, error, "name a certificate and its key in PEM, without a passphrase") from None
        return context


def _unusable(file: str, error: OSError | ValueError, remedy: str) -> InputError:
    """The error for files that cannot be read, or hold nothing of use."""
    is_of_system = isinstance(error, OSError) and not isinstance(error, ssl.SSLError)
    problem = (getattr(error, "strerror", None) or str(error)).lower() if is_of_system else remedy
    return InputError([Diagnostic(file, 0, 0, f"cannot be used: {problem}")])


def address(url: str, server_name: str | None = None) -> Address:
    """Return the address that a URL names. Raises ValueError."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(_EXPECTED) from None
    if parts.scheme == "http":
        raise ValueError("reviews are served over TLS only; write https://")
    if parts.scheme != "https" or not host or printable(host) != host or parts.username is not None:
        raise ValueError(_EXPECTED)
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError("leave out what follows the port; check appends the paths of the hooks")
    return Address(host, _HTTPS if port is None else port, server_name or host)


_HTTPS = 443
_EXPECTED = "name scheme, host and port, such as https://localhost:8443"
