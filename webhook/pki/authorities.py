"""Certificate authorities, the serving certificates that they sign, and the Secret that holds them.

The Secret has the authority that signs, its successor, and predecessors that may still be in use. Only `current` signs.
A successor is stored first and published in every `caBundle`, and becomes current when every API server has had time to
see it. So a replica that starts at any moment signs by an authority that is trusted. Keys are ECDSA P-256.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webhook.cluster.api_server import Object
from webhook.pki import bundle

_BACKDATED = timedelta(minutes=30)
"""How far in the past validity starts, for clocks that are behind."""

_PROBE = "probe.invalid"


class DamagedError(ValueError):
    """A certificate and a key do not make an authority. The message says why."""


class ServingCertificate(NamedTuple):
    """A server's certificate and key, as PEM."""

    certificate: bytes
    key: bytes


class Authority(NamedTuple):
    """A certificate that signs serving certificates, and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls, name: str, now: datetime, lifetime: timedelta) -> Authority:
        """A new authority with this common name, valid for `lifetime` from `now`."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        certificate = _builder(subject, subject, key.public_key(), now, now + lifetime, is_authority=True).sign(
            key, hashes.SHA256()
        )
        return cls(certificate, key)

    @classmethod
    def read(cls, certificate: bytes, key: bytes) -> Authority:
        """The authority in these two PEM texts. Raises DamagedError, also if clients would reject what it signs."""
        try:
            (own,) = bundle.read(certificate)
            own.verify_directly_issued_by(own)
        except (*bundle.UNREADABLE, InvalidSignature) as error:
            raise DamagedError(f"the certificate cannot be used ({type(error).__name__})") from None
        try:
            private = serialization.load_pem_private_key(key, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise DamagedError(f"the key cannot be used ({type(error).__name__})") from None
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise DamagedError("the key is not an elliptic curve key")
        if private.public_key() != own.public_key():
            raise DamagedError("the key does not belong to the certificate")
        authority, begins = cls(own, private), own.not_valid_before_utc
        try:
            probe = authority.sign([_PROBE], begins + _BACKDATED, _BACKDATED)
            reason = bundle.rejection(own, x509.load_pem_x509_certificate(probe.certificate), _PROBE, begins)
        except (OverflowError, *bundle.UNREADABLE) as error:
            reason = str(error)
        if reason:
            raise DamagedError(f"clients reject what the certificate signs ({reason})")
        return authority

    def sign(self, hosts: Sequence[str], now: datetime, lifetime: timedelta) -> ServingCertificate:
        """Sign a certificate for DNS names and IP addresses; the API server ignores common names.

        It ends no later than its authority, so that its end is that of the chain.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        end = min(now + lifetime, self.certificate.not_valid_after_utc)
        certificate = (
            _builder(_name(hosts[0]), self.certificate.subject, key.public_key(), now, end, is_authority=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return ServingCertificate(certificate.public_bytes(serialization.Encoding.PEM), _key_pem(key))

    def bundle(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def key_pem(self) -> bytes:
        return _key_pem(self.key)


def age(certificate: x509.Certificate, now: datetime) -> timedelta:
    """How long ago a certificate was created."""
    return now - certificate.not_valid_before_utc - _BACKDATED


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime,
    end: datetime,
    *,
    is_authority: bool,
) -> x509.CertificateBuilder:
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), critical=True)
        .add_extension(usage, critical=True)
    )


def _name(common: str) -> x509.Name:
    # A common name has at most 64 characters; nothing reads it.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


PREDECESSORS: Final = "ca-previous.crt"
SINCE: Final = "gpushare-webhook/predecessors-since"
"""The annotation with the time at which the last predecessor was added."""


class Authorities(NamedTuple):
    """The authorities of an installation. `since` is when the last predecessor was added.

    `faults` describes the damaged parts of the Secret, which were skipped.
    """

    current: Authority | None = None
    successor: Authority | None = None
    predecessors: tuple[x509.Certificate, ...] = ()
    since: datetime | None = None
    faults: tuple[str, ...] = ()

    @property
    def signing(self) -> tuple[x509.Certificate, ...]:
        """Those with a key."""
        return tuple(authority.certificate for authority in (self.current, self.successor) if authority is not None)

    @property
    def certificates(self) -> tuple[x509.Certificate, ...]:
        """All of them, each once: what every `caBundle` must hold."""
        return tuple(dict.fromkeys((*self.signing, *self.predecessors)))


def read(secret: Object) -> Authorities:
    """The authorities in a Secret as the API server returned it; none if it holds no data of the webhook."""
    faults: list[str] = []
    data = secret.get("data") or {}
    current, stray = _authority(data, "ca", faults)
    successor, other_stray = _authority(data, "ca-next", faults)
    text = decoded(data.get(PREDECESSORS))
    predecessors = bundle.read(text)
    if bundle.render(predecessors) != text:  # the webhook alone writes it
        faults.append(f"{PREDECESSORS}: has been changed")
    since = _since(secret, faults, expected=bool(predecessors))
    # An authority whose key is lost cannot sign, but certificates that it signed may be in use.
    return Authorities(current, successor, (*stray, *other_stray, *predecessors), since, tuple(faults))


def write(authorities: Authorities, secret: Object) -> Object:
    """The Secret with these authorities, and everything else as it is in `secret`."""
    metadata = dict(secret.get("metadata") or {})
    annotations = {name: text for name, text in (metadata.get("annotations") or {}).items() if name != SINCE}
    if authorities.predecessors and authorities.since is not None:
        annotations[SINCE] = authorities.since.isoformat()
    metadata["annotations"] = annotations
    texts = {PREDECESSORS: bundle.render(authorities.predecessors)}
    for name, authority in (("ca", authorities.current), ("ca-next", authorities.successor)):
        if authority is not None:
            texts |= {f"{name}.crt": authority.bundle(), f"{name}.key": authority.key_pem()}
    kept = {name: text for name, text in (secret.get("data") or {}).items() if name not in _KEYS}
    encoded = {name: base64.b64encode(text).decode() for name, text in texts.items() if text}
    return {**secret, "metadata": metadata, "data": {**kept, **encoded}}


_KEYS: Final = {"ca.crt", "ca.key", "ca-next.crt", "ca-next.key", PREDECESSORS}


def _authority(
    data: Mapping[str, str], name: str, faults: list[str]
) -> tuple[Authority | None, tuple[x509.Certificate, ...]]:
    """An authority; or, if it cannot sign, the certificates that are left of it."""
    certificate, key = decoded(data.get(f"{name}.crt")), decoded(data.get(f"{name}.key"))
    if not certificate and not key:
        return None, ()
    try:
        return Authority.read(certificate, key), ()
    except DamagedError as error:
        faults.append(f"{name}.crt and {name}.key: {error}")
        return None, bundle.read(certificate)


def _since(secret: Object, faults: list[str], *, expected: bool) -> datetime | None:
    """When the last predecessor was added. An annotation without predecessors shows that they were lost."""
    text = ((secret.get("metadata") or {}).get("annotations") or {}).get(SINCE)
    if not expected:
        if text is not None:
            faults.append(f"{PREDECESSORS}: missing")
        return None
    with suppress(ValueError):
        since = datetime.fromisoformat(text or "")
        if since.tzinfo is not None:
            return since
    faults.append(f"annotation {SINCE}: not a time")
    return None


def decoded(text: str | None) -> bytes:
    """The bytes of a base64 text; none for a damaged one."""
    try:
        return base64.b64decode(text or "")
    except ValueError:
        return b""
