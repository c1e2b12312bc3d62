"""What the server shows and asks in a handshake: its certificate, and the authorities of its callers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime

from webhook.server.door import Door
from webhook.server.metrics import Metrics
from webhook.server.reload import Source, UnusableError
from webhook.server.tls import CertificateError, Pair, context, expiry, first_expiry, read, read_pair
from webhook.settings.process import Tls


class Credentials:
    """The pair and the authorities that serve at a door. Each change makes a new context; the door takes it whole."""

    def __init__(self, tls: Tls, door: Door, metrics: Metrics) -> None:
        self._tls = tls
        self._door = door
        self._metrics = metrics
        self._pair: Pair | None = None
        self._authorities: bytes | None = None
        self.presented = asyncio.Event()

    def sources(self) -> Iterator[Source]:
        """What is read from files."""
        if self._tls.client_ca is not None:
            yield Source("client CA", self._read_authorities, self._with_authorities, self._take_authorities)
        if self._tls.mode == "files":
            yield Source("certificate", self._read_pair, self._with_pair, self._take_pair)

    def present(self, certificate: bytes, key: bytes) -> None:
        """Show another certificate, PEM, in handshakes from now on. Raises UnusableError."""
        self._take_pair(self._with_pair(Pair(certificate, key)))

    def _read_pair(self) -> Pair:
        try:
            return read_pair(self._tls)
        except CertificateError as error:
            raise UnusableError(str(error)) from None

    def _read_authorities(self) -> bytes:
        try:
            return read(str(self._tls.client_ca))
        except CertificateError as error:
            raise UnusableError(str(error)) from None

    def _with_pair(self, pair: Pair) -> tuple[Pair, ssl.SSLContext]:
        try:
            self._refuse_ended(pair)
            return pair, context(self._tls, pair, self._authorities)
        except CertificateError as error:
            raise UnusableError(str(error)) from None

    def _with_authorities(self, authorities: bytes) -> tuple[bytes, ssl.SSLContext | None, float]:
        try:
            ends = first_expiry(authorities, str(self._tls.client_ca))
            again = context(self._tls, self._pair, authorities) if self._pair is not None else None
        except CertificateError as error:
            raise UnusableError(str(error)) from None
        return authorities, again, ends

    def _refuse_ended(self, pair: Pair) -> None:
        """A leaf that has ended is no use, unless there is nothing better."""
        now = datetime.now(UTC)
        ended = pair.leaf().not_valid_after_utc
        if ended <= now and self._pair is not None and self._pair.leaf().not_valid_after_utc > now:
            raise CertificateError(f"{pair.source}: the certificate has ended at {ended:%Y-%m-%d %H:%M} UTC")

    def _take_pair(self, made: tuple[Pair, ssl.SSLContext]) -> None:
        self._pair, self._door.welcome.context = made
        self._metrics.expiry.labels("leaf").set(expiry(self._pair.leaf()))
        self.presented.set()

    def _take_authorities(self, made: tuple[bytes, ssl.SSLContext | None, float]) -> None:
        self._authorities, again, ends = made
        if again is not None:
            self._door.welcome.context = again
        self._metrics.expiry.labels("client-ca").set(ends)
