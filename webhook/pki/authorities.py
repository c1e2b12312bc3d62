"""The content of the Secret: the authority that signs, its successor, and predecessors that may still be in use.

Only `current` signs. A successor is stored first and published in every `caBundle`, and becomes current when every API
server has had time to see it. So a replica that starts at any moment signs by an authority that is trusted.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509

from webhook.cluster.api_server import Object
from webhook.pki import bundle
from webhook.pki.authority import Authority, DamagedError

PREDECESSORS: Final = "ca-previous.crt"
SINCE: Final = "gpushare-webhook/predecessors-since"
"""The annotation with the time at which the last predecessor was added."""


@dataclass(frozen=True, slots=True)
class Authorities:
    """The authorities of an installation. `since` is when the last predecessor was added.

    `faults` describes the damaged parts of the Secret, which were skipped.
    """

    current: Authority | None = None
    successor: Authority | None = None
    predecessors: tuple[x509.Certificate, ...] = ()
    since: datetime | None = None
    faults: tuple[str, ...] = ()

    @property
    def certificates(self) -> tuple[x509.Certificate, ...]:
        """All of them, each once: what every `caBundle` must hold."""
        keyed = (authority.certificate for authority in (self.current, self.successor) if authority is not None)
        return tuple(dict.fromkeys((*keyed, *self.predecessors)))


def read(secret: Object) -> Authorities:
    """The authorities in a Secret as the API server returned it; none if it holds no data of the webhook."""
    faults: list[str] = []
    data = secret.get("data") or {}
    current, stray = _authority(data, "ca", faults)
    successor, other_stray = _authority(data, "ca-next", faults)
    predecessors = _predecessors(decoded(data.get(PREDECESSORS)), faults)
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
    texts = {
        **_texts(authorities.current, "ca"),
        **_texts(authorities.successor, "ca-next"),
        PREDECESSORS: bundle.render(authorities.predecessors),
    }
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


def _predecessors(text: bytes, faults: list[str]) -> tuple[x509.Certificate, ...]:
    """The predecessors in a text. The webhook alone writes it, so any difference from what it writes is damage."""
    found = bundle.read(text)
    if bundle.render(found) != text:
        faults.append(f"{PREDECESSORS}: has been changed")
    return found


def _since(secret: Object, faults: list[str], *, expected: bool) -> datetime | None:
    """When the last predecessor was added. An annotation without predecessors shows that they were lost."""
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
        faults.append(f"annotation {SINCE}: not a time")
        return None
    return since


def _texts(authority: Authority | None, name: str) -> dict[str, bytes]:
    if authority is None:
        return {}
    return {f"{name}.crt": authority.bundle(), f"{name}.key": authority.key_pem()}


def decoded(text: str | None) -> bytes:
    """The bytes of a base64 text; none for a damaged one."""
    try:
        return base64.b64decode(text or "")
    except (binascii.Error, ValueError):
        return b""
