"""The part of a webhook configuration that certificates depend on: its entries and their `caBundle`s."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from webhook.cluster.api_server import Object
from webhook.pki.shapes import HookConfigurationShape


@dataclass(frozen=True, slots=True)
class Entry:
    """One webhook of a configuration, with its `caBundle` as PEM."""

    name: str
    bundle: bytes


@dataclass(frozen=True, slots=True)
class HookConfiguration:
    """What one configuration held at one `resourceVersion`."""

    path: str
    resource_version: str
    entries: tuple[Entry, ...]


def read(path: str, found: HookConfigurationShape) -> HookConfiguration:
    """The configuration at this path, as the API server returned it."""
    entries = tuple(Entry(entry.name, _pem(entry.client_config.ca_bundle)) for entry in found.webhooks or ())
    return HookConfiguration(path, found.metadata.resource_version, entries)


def operations(configuration: HookConfiguration, bundle: bytes) -> list[Object]:
    """The JSON patch that writes the bundle into every entry that has another one; empty if there is none.

    The patch fails if the object has changed meanwhile, because an index may then mean another entry. Server-side apply
    needs no index, but it would make the webhook an owner of the entries, and a later apply that drops one would fail.
    """
    text = base64.b64encode(bundle).decode()
    edits = [
        operation
        for index, entry in enumerate(configuration.entries)
        if entry.bundle != bundle
        for operation in (
            {"op": "test", "path": f"/webhooks/{index}/name", "value": entry.name},
            {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": text},
        )
    ]
    unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": configuration.resource_version}
    return [unchanged, *edits] if edits else []


def _pem(bundle: str | None) -> bytes:
    try:
        return base64.b64decode(bundle or "")
    except (binascii.Error, ValueError):
        return b""
