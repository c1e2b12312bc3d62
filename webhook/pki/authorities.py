"""What the Secret holds: the authority that signs, the one that comes next, and those whose leaves may still be served.

`current` alone signs. A successor is put beside it first, published in every `caBundle`, and only takes its place when
every API server has had time to see it. So a replica that starts at any moment signs by an authority that is trusted.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cryptography import x509

from webhook.pki import bundle
from webhook.pki.authority import Authority, DamagedError

PREDECESSORS: Final = "ca-previous.crt"
SINCE: Final = "gpushare-webhook/predecessors-since"
"""The annotation that tells when a predecessor was added last."""

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Authorities:
    """The authorities of an installation. `since` is when a predecessor was added last.

    `faults` tells what in the Secret was damaged and passed over.
    """

    current: Authority | None = None
    successor: Authority | None = None
    predecessors: tuple[x509.Certificate, ...] = ()
    since: datetime | None = None
    faults: tuple[str, ...] = ()

    @property
    def certificates(self) -> tuple[x509.Certificate, ...]:
        """All of them, each once: what belongs into every `caBundle`."""
        keyed = (authority.certificate for authority in (self.current, self.successor) if authority is not None)
        return tuple(dict.fromkeys((*keyed, *self.predecessors)))


def read(secret: Object) -> Authorities:
    """What is in a Secret, as the API server gives it. A Secret without our data holds nothing."""
    faults: list[str] = []
    data = secret.get("data") or {}
    current, stray = _authority(data, "ca", faults)
    successor, other_stray = _authority(data, "ca-next", faults)
    predecessors = _predecessors(_bytes(data, PREDECESSORS), faults)
    since = _since(secret, faults, expected=bool(predecessors))
    # An authority whose key is lost signs no more, but leaves of it may be served.
    return Authorities(current, successor, (*stray, *other_stray, *predecessors), since, tuple(faults))


def write(authorities: Authorities, secret: Object) -> Object:
    """A Secret that holds these authorities, with everything else as it is in `secret`."""
    metadata = dict(secret.get("metadata") or {})
    annotations = {name: text for name, text in (metadata.get("annotations") or {}).items() if name != SINCE}
    if authorities.predecessors and authorities.since is not None:
        annotations[SINCE] = authorities.since.isoformat()
    metadata["annotations"] = annotations
    texts = {
        **_texts(authorities.current, "ca"),
        **_texts(authorities.successor, "ca-next"),
        PREDECESSORS: bundle.render(authorities.predecessors),
    }
    kept = {name: text for name, text in (secret.get("data") or {}).items() if name not in _OURS}
    ours = {name: base64.b64encode(text).decode() for name, text in texts.items() if text}
    return {**secret, "metadata": metadata, "data": {**kept, **ours}}


_OURS: Final = {"ca.crt", "ca.key", "ca-next.crt", "ca-next.key", PREDECESSORS}


def _authority(
    data: Mapping[str, str], name: str, faults: list[str]
) -> tuple[Authority | None, tuple[x509.Certificate, ...]]:
    """An authority; or, where it cannot sign, what there is of its certificate."""
    certificate, key = _bytes(data, f"{name}.crt"), _bytes(data, f"{name}.key")
    if not certificate and not key:
        return None, ()
    try:
        return Authority.read(certificate, key), ()
    except DamagedError as error:
        faults.append(f"{name}.crt and {name}.key: {error}")
        return None, bundle.read(certificate)


def _predecessors(text: bytes, faults: list[str]) -> tuple[x509.Certificate, ...]:
    """Only we write this text, so whatever is not as we write it is damage."""
    found = bundle.read(text)
    if bundle.render(found) != text:
        faults.append(f"{PREDECESSORS}: not as it was written")
    return found


def _since(secret: Object, faults: list[str], *, expected: bool) -> datetime | None:
    """The annotation is there if and only if there are predecessors: so one tells when the other was taken away."""
    text = ((secret.get("metadata") or {}).get("annotations") or {}).get(SINCE)
    if not expected:
        if text is not None:
            faults.append(f"{PREDECESSORS}: missing")
        return None
    try:
        since = datetime.fromisoformat(text or "")
    except ValueError:
        since = None
    if since is None or since.tzinfo is None:
        faults.append(f"annotation {SINCE}: no time")
        return None
    return since


def _texts(authority: Authority | None, name: str) -> dict[str, bytes]:
    if authority is None:
        return {}
    return {f"{name}.crt": authority.bundle(), f"{name}.key": authority.key_pem()}


def _bytes(data: Mapping[str, str], name: str) -> bytes:
    try:
        return base64.b64decode(data.get(name) or "")
    except (binascii.Error, ValueError):
        return b""
