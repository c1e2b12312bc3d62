"""What the server shows and asks in a handshake: its certificate, and the authorities of its callers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from cryptography.x509 import Certificate

from webhook.runtime.certificates import NotPresentedError
from webhook.server.http.acceptor import Acceptor
from webhook.server.observe.metrics import Metrics
from webhook.server.reload import Source, UnusableError
from webhook.server.tls import CertificateError, Pair, context, expiry, first_expiry, read, read_pair
from webhook.settings.process import Tls


class Credentials:
    """The pair and the authorities that an acceptor presents. Each change replaces the TLS context as a whole."""

    def __init__(self, tls: Tls, acceptor: Acceptor, metrics: Metrics) -> None:
        self._tls = tls
        self._acceptor = acceptor
        self._metrics = metrics
        self._pair: Pair | None = None
        self._authorities: bytes | None = None
        self.presented = asyncio.Event()

    def sources(self) -> Iterator[Source]:
        """What is read from files."""
        if self._tls.client_ca is not None:
            yield Source("client CA", self._read_authorities, self._checked_authorities, self._take_authorities)
        if self._tls.mode == "files":
            yield Source("certificate", self._read_pair, self._checked_pair, self._take_pair)

    def present(self, certificate: bytes, key: bytes) -> None:
        """Present another certificate, PEM, in each new handshake. Raises NotPresentedError.

        The signer decides whether the certificate is in its time: it may know a better clock than this machine's.
        """
        try:
            self._take_pair(Pair(certificate, key))
        except (UnusableError, MemoryError) as error:
            raise NotPresentedError(str(error) or "no memory") from error

    def _read_pair(self) -> Pair:
        with _as_unusable():
            return read_pair(self._tls)

    def _read_authorities(self) -> bytes:
        with _as_unusable():
            return read(str(self._tls.client_ca))

    def _checked_pair(self, pair: Pair) -> Pair:
        with _as_unusable():
            self._refuse_out_of_time(pair)
            context(self._tls, pair, self._authorities)
        return pair

    def _checked_authorities(self, authorities: bytes) -> bytes:
        with _as_unusable():
            first_expiry(authorities, str(self._tls.client_ca))
            if self._pair is not None:
                context(self._tls, self._pair, authorities)
        return authorities

    def _refuse_out_of_time(self, pair: Pair) -> None:
        """A leaf that has ended or not begun is no use, unless there is nothing better; the next look tries again."""
        now, leaf = datetime.now(UTC), pair.leaf()
        if self._pair is None or not _serves(self._pair.leaf(), now) or _serves(leaf, now):
            return
        if leaf.not_valid_after_utc <= now:
            raise CertificateError(f"{pair.source}: the certificate has ended at {_day(leaf.not_valid_after_utc)}")
        raise CertificateError(f"{pair.source}: the certificate begins only at {_day(leaf.not_valid_before_utc)}")

    def _take_pair(self, pair: Pair) -> None:
        self._serve(pair, self._authorities)
        self._metrics.expiry.labels("leaf").set(expiry(pair.leaf()))
        self.presented.set()

    def _take_authorities(self, authorities: bytes) -> None:
        self._serve(self._pair, authorities)
        self._metrics.expiry.labels("client-ca").set(first_expiry(authorities, str(self._tls.client_ca)))

    def _serve(self, pair: Pair | None, authorities: bytes | None) -> None:
        """Put both in force at once: a context that was made beforehand may hold what has been replaced meanwhile.

        Raises UnusableError, and changes nothing then.
        """
        if pair is not None:
            with _as_unusable():
                self._acceptor.tls = context(self._tls, pair, authorities)
        self._pair, self._authorities = pair, authorities


def _serves(leaf: Certificate, now: datetime) -> bool:
    return leaf.not_valid_before_utc <= now < leaf.not_valid_after_utc


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


@contextmanager
def _as_unusable() -> Iterator[None]:
    try:
        yield
    except CertificateError as error:
        raise UnusableError(str(error)) from None
