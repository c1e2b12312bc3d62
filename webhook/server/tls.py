"""The TLS credentials of the review listener: certificate, key and client CA, and the contexts made from them.

The bytes come from files or were signed in memory.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from webhook.diagnostics import InputError
from webhook.server.metrics import Metrics
from webhook.server.reload import ReloadedSource, content
from webhook.settings.configuration import Tls

_READS = 5
"""How often the certificate file is read again at most because it changed while the key was read."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate with its chain, and its key, both PEM. `source` and `key_source` name them in messages."""

    certificate: bytes
    key: bytes
    source: str = "the certificate"
    key_source: str = "its key"

    def leaf(self) -> x509.Certificate:
        """The first certificate of the chain. Raises InputError."""
        return _certificates(self.certificate, self.source)[0]


def read_pair(tls: Tls) -> KeyPair:
    """Read the certificate and key files of the settings. Raises InputError."""
    if not tls.cert_file or not tls.key_file:
        raise InputError.of(
            "no certificate", "give --tls-cert and --tls-key, or tls.certFile and tls.keyFile in the settings"
        )
    certificate = content(tls.cert_file)
    # The kubelet replaces both files of a mounted Secret at once, but two files cannot be read at once.
    for _ in range(_READS):
        key, again = content(tls.key_file), content(tls.cert_file)
        if again == certificate:
            break
        certificate = again
    return KeyPair(certificate, key, tls.cert_file, tls.key_file)


def server_context(tls: Tls, pair: KeyPair, authorities: Sequence[x509.Certificate] | None) -> ssl.SSLContext:
    """Make a server context: HTTP/1.1 only, no session tickets. Raises InputError.

    With `authorities`, clients must present a certificate that one of them has signed.
    """
    with _certificate_errors("the TLS context"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2 if tls.min_version == "1.2" else ssl.TLSVersion.TLSv1_3
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0  # the same for TLS 1.3: a resumed session skips the check of the client certificate
    context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
    # The API server speaks HTTP/1.1 to webhooks on purpose (kubernetes/kubernetes#75791).
    context.set_alpn_protocols(["http/1.1"])
    # OpenSSL's errors do not say which of the two they mean.
    with _certificate_errors(pair.source):
        certified = pair.leaf().public_key()
    try:
        own = serialization.load_pem_private_key(pair.key, password=None).public_key()
    except TypeError:
        raise InputError.of(pair.key_source, "is encrypted; give the key without a passphrase") from None
    except (ValueError, UnsupportedAlgorithm):
        raise InputError.of(pair.key_source, "holds no private key in PEM") from None
    if certified != own:
        raise InputError.of(pair.key_source, f"is not the key of the certificate in {pair.source}")
    # `ssl` takes only files, so these are in memory: no key reaches a disk.
    with _certificate_errors(pair.source), _memory_file(pair.certificate) as certificate, _memory_file(pair.key) as key:
        context.load_cert_chain(certificate, key)
    if authorities is not None:
        # As DER, because OpenSSL takes PEM in ASCII only, and there may be any text between the certificates.
        ders = [authority.public_bytes(serialization.Encoding.DER) for authority in authorities]
        with _certificate_errors(str(tls.client_ca)):
            context.load_verify_locations(cadata=b"".join(ders))
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@contextmanager
def _certificate_errors(source: str) -> Iterator[None]:
    """Raise the errors of OpenSSL, the system and the parser as InputError."""
    try:
        yield
    except ssl.SSLError as error:
        # Python sets no `reason` on errors that OpenSSL has none for (PyErr_SetString in CPython's Modules/_ssl.c).
        reason = (getattr(error, "reason", None) or error.strerror or "unknown").replace("_", " ").lower()
        raise InputError.of(source, f"OpenSSL rejects it: {reason}") from None
    except OSError as error:  # the system's: no file descriptor, no memory
        raise InputError.of(source, f"cannot be used: {error.strerror or error}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InputError.of(source, f"cannot be used: {error}") from None


@contextmanager
def _memory_file(content: bytes) -> Iterator[str]:
    descriptor = os.memfd_create("tls", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _certificates(pem: bytes, source: str) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except (ValueError, x509.InvalidVersion):
        raise InputError.of(source, "holds no certificate in PEM") from None


@dataclass(eq=False, repr=False, slots=True)  # a representation would hold the key
class Credentials:
    """The key pair and the client CA of an endpoint. Each change makes a new TLS context of both, for `use_tls`.

    `presented` is set when the endpoint has its first certificate.
    """

    tls: Tls
    use_tls: Callable[[ssl.SSLContext], None]
    metrics: Metrics
    presented: asyncio.Event = field(default_factory=asyncio.Event)
    _pair: KeyPair | None = None
    _authorities: Sequence[x509.Certificate] | None = None

    def sources(self) -> Iterator[ReloadedSource]:
        if self.tls.client_ca is not None:
            file = self.tls.client_ca
            parse = partial(_certificates, source=file)
            yield ReloadedSource("client CA", partial(content, file), parse, self._take_authorities)
        if self.tls.mode == "files":
            yield ReloadedSource("certificate", partial(read_pair, self.tls), self._checked_pair, self._take_pair)

    def install(self, certificate: bytes, key: bytes) -> None:
        """Present another certificate, PEM, in each new handshake. Raises InputError.

        The signer decides whether the certificate is valid now: it may know a better clock than this machine's.
        """
        self._use(KeyPair(certificate, key), self._authorities)

    def _checked_pair(self, pair: KeyPair) -> KeyPair:
        """Return the pair. Raises InputError.

        A certificate that has expired or not begun is rejected while the one in use is valid, and read again later.
        """
        now, leaf = datetime.now(UTC), pair.leaf()
        if self._pair is not None and _is_valid(self._pair.leaf(), now) and not _is_valid(leaf, now):
            begins, ends = leaf.not_valid_before_utc, leaf.not_valid_after_utc
            fault, time = ("expired at", ends) if ends <= now else ("is not valid before", begins)
            raise InputError.of(pair.source, f"the certificate {fault} {time:%Y-%m-%d %H:%M} UTC")
        server_context(self.tls, pair, self._authorities)
        return pair

    async def _take_pair(self, pair: KeyPair) -> None:
        self._use(pair, self._authorities)

    async def _take_authorities(self, authorities: Sequence[x509.Certificate]) -> None:
        self._use(self._pair, authorities)

    def _use(self, pair: KeyPair | None, authorities: Sequence[x509.Certificate] | None) -> None:
        """Use both. Raises InputError, and then changes nothing.

        The context is made here because one that was made earlier, to check a file, may hold what has been replaced.
        """
        if pair is not None:
            self.use_tls(server_context(self.tls, pair, authorities))
            self.metrics.expiry.labels("leaf").set(pair.leaf().not_valid_after_utc.timestamp())
            self.presented.set()
        if authorities is not None:
            end = min(authority.not_valid_after_utc for authority in authorities)
            self.metrics.expiry.labels("client-ca").set(end.timestamp())
        self._pair, self._authorities = pair, authorities


def _is_valid(leaf: x509.Certificate, now: datetime) -> bool:
    return leaf.not_valid_before_utc <= now < leaf.not_valid_after_utc
