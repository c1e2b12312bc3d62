"""What objects of the API server look like, as far as certificates are concerned.

Something else may answer in its place, such as a proxy with an error page in JSON. So an object is checked once, where
it arrives, and the rest of this package relies on it.
"""

from __future__ import annotations

from typing import Any

import msgspec

Texts = dict[str, str]


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str
    labels: Texts | None = None
    annotations: Texts | None = None


class Secret(msgspec.Struct):
    """A Secret."""

    metadata: _Metadata
    data: Texts | None = None


class _Client(msgspec.Struct, rename="camel"):
    ca_bundle: str | None = None


class _Webhook(msgspec.Struct, rename="camel"):
    name: str
    client_config: _Client


class Configuration(msgspec.Struct):
    """A webhook configuration of either kind."""

    metadata: _Metadata
    webhooks: list[_Webhook] | None = None


class _Named(msgspec.Struct):
    name: str
    uid: str


class Owner(msgspec.Struct):
    """An object that can own another."""

    metadata: _Named


def check(found: dict[str, Any], shape: type[msgspec.Struct], path: str) -> dict[str, Any]:
    """The object, which has this shape. Raises ConnectionError, which quotes no value: a Secret is among them."""
    try:
        msgspec.convert(found, shape)
    except msgspec.ValidationError as error:
        raise ConnectionError(f"GET {path}: not an object of the API server: {error}") from None
    return found
