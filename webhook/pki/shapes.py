"""The fields of API objects that certificates depend on.

Something else may answer in place of the API server, such as a proxy with an error page in JSON. So each object is
checked once, when it arrives, and the rest of this package relies on its shape.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from webhook.cluster.api_server import Object

Shape = TypeVar("Shape", bound=msgspec.Struct)
Texts = dict[str, str]


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str
    labels: Texts | None = None
    annotations: Texts | None = None


class SecretShape(msgspec.Struct):
    """A Secret."""

    metadata: _Metadata
    data: Texts | None = None


class _ClientConfig(msgspec.Struct, rename="camel"):
    ca_bundle: str | None = None


class _Webhook(msgspec.Struct, rename="camel"):
    name: str
    client_config: _ClientConfig


class HookConfigurationShape(msgspec.Struct):
    """A MutatingWebhookConfiguration or ValidatingWebhookConfiguration."""

    metadata: _Metadata
    webhooks: list[_Webhook] | None = None


class _Identity(msgspec.Struct):
    name: str
    uid: str


class OwnerShape(msgspec.Struct):
    """An object that can own another."""

    metadata: _Identity


def check(found: Object, shape: type[Shape], path: str) -> Shape:
    """Return the object as this shape. Raises ConnectionError, which quotes no value: a Secret may be among them."""
    try:
        return msgspec.convert(found, shape)
    except msgspec.ValidationError as error:
        raise ConnectionError(f"GET {path}: not an object of the API server: {error}") from None
