"""The content of the Secret: the authority that signs, its successor, and predecessors that may still be in use.

Only `current` signs. A successor is stored first and published in every `caBundle`, and becomes current when every API
server has had time to see it. So a replica that starts at any moment signs by an authority that is trusted.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
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
