"""A webhook configuration, as far as certificates are concerned: its entries and their `caBundle`s."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One webhook of a configuration."""

    name: str
    bundle: bytes


@dataclass(frozen=True, slots=True)
class Configuration:
    """What one configuration held at one `resourceVersion`."""

    path: str
    resource_version: str
    entries: tuple[Entry, ...]


def read(path: str, found: Object) -> Configuration:
    """A configuration as the API server gives it."""
    entries = tuple(Entry(entry["name"], _bundle(entry["clientConfig"])) for entry in found.get("webhooks") or ())
    return Configuration(path, found["metadata"]["resourceVersion"], entries)


def operations(configuration: Configuration, bundle: bytes) -> list[Object]:
    """The JSON patch that puts the bundle into every entry with another one; empty when there is none.

    It is void should the object have changed meanwhile, for then an index may mean another entry. Server-side apply
    would do without an index, but it would make us an owner of the entries, and a later apply that drops one fails.
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


def _bundle(client: Object) -> bytes:
    try:
        return base64.b64decode(client.get("caBundle") or "")
    except (binascii.Error, ValueError):
        return b""
