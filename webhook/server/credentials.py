"""The certificate and the client CA in use: read from files or installed by a signer, replaced without a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

from cryptography.x509 import Certificate

from webhook.diagnostics import InputError
from webhook.runtime.certificates import InstallError
from webhook.server.observe.metrics import Metrics
from webhook.server.reload import Source
from webhook.server.tls import (
    CertificateError,
    KeyPair,
    TlsEndpoint,
    expiry,
    first_expiry,
    read,
    read_pair,
    server_context,
)
from webhook.settings.process import Tls


class Credentials:
    """The key pair and the client CA of an endpoint. Each change makes a new TLS context of both.

    `presented` is set when the endpoint has its first certificate.
    """

    def __init__(self, tls: Tls, endpoint: TlsEndpoint, metrics: Metrics) -> None:
        self._tls = tls
        self._endpoint = endpoint
        self._metrics = metrics
        self._pair: KeyPair | None = None
        self._client_ca: bytes | None = None
        self.presented = asyncio.Event()

    def sources(self) -> Iterator[Source]:
        if self._tls.client_ca is not None:
            yield Source("client CA", self._read_client_ca, self._checked_client_ca, self._take_client_ca)
        if self._tls.mode == "files":
            yield Source("certificate", lambda: read_pair(self._tls), self._checked_pair, self._take_pair)

    def install(self, certificate: bytes, key: bytes) -> None:
        """Present another certificate, PEM, in each new handshake. Raises InstallError.

        The signer decides whether the certificate is valid now: it may know a better clock than this machine's.
        """
        try:
            self._use_pair(KeyPair(certificate, key))
        except (InputError, MemoryError) as error:
            raise InstallError(str(error) or "no memory") from error

    def _read_client_ca(self) -> bytes:
        return read(str(self._tls.client_ca))

    def _checked_pair(self, pair: KeyPair) -> KeyPair:
        self._check_validity(pair)
        server_context(self._tls, pair, self._client_ca)
        return pair

    def _checked_client_ca(self, client_ca: bytes) -> bytes:
        first_expiry(client_ca, str(self._tls.client_ca))
        if self._pair is not None:
            server_context(self._tls, self._pair, client_ca)
        return client_ca

    def _check_validity(self, pair: KeyPair) -> None:
        """Reject a certificate that has expired or not begun while the one in use is valid. It is read again later."""
        now, leaf = datetime.now(UTC), pair.leaf()
        if self._pair is None or not _is_valid(self._pair.leaf(), now) or _is_valid(leaf, now):
            return
        if leaf.not_valid_after_utc <= now:
            raise CertificateError(pair.source, f"the certificate expired at {_minute(leaf.not_valid_after_utc)}")
        raise CertificateError(pair.source, f"the certificate is not valid before {_minute(leaf.not_valid_before_utc)}")

    async def _take_pair(self, pair: KeyPair) -> None:
        self._use_pair(pair)

    async def _take_client_ca(self, client_ca: bytes) -> None:
        self._use_client_ca(client_ca)

    def _use_pair(self, pair: KeyPair) -> None:
        self._use(pair, self._client_ca)
        self._metrics.expiry.labels("leaf").set(expiry(pair.leaf()))
        self.presented.set()

    def _use_client_ca(self, client_ca: bytes) -> None:
        self._use(self._pair, client_ca)
        self._metrics.expiry.labels("client-ca").set(first_expiry(client_ca, str(self._tls.client_ca)))

    def _use(self, pair: KeyPair | None, client_ca: bytes | None) -> None:
        """Use both. Raises InputError, and then changes nothing.

        The context is made here because one that was made earlier, to check a file, may hold what has been replaced.
        """
        if pair is not None:
            self._endpoint.use_tls(server_context(self._tls, pair, client_ca))
        self._pair, self._client_ca = pair, client_ca


def _is_valid(leaf: Certificate, now: datetime) -> bool:
    return leaf.not_valid_before_utc <= now < leaf.not_valid_after_utc


def _minute(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"
