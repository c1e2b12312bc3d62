"""Client authorization: which client certificates may send reviews."""

from __future__ import annotations

import asyncio
from collections.abc import Collection


class ClientAuth:
    """The common names of client certificates that may send reviews; empty allows every client.

    The TLS handshake has already verified the certificate against `tls.clientCA`.
    """

    def __init__(self, subjects: Collection[str] = ()) -> None:
        self._subjects = frozenset(subjects)

    def knows(self, transport: asyncio.BaseTransport) -> bool:
        """Whether the client of this connection may send reviews."""
        return not self._subjects or not self._subjects.isdisjoint(_common_names(transport))


def _common_names(transport: asyncio.BaseTransport) -> list[str]:
    certificate = transport.get_extra_info("peercert") or {}
    return [value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"]
