"""Read documents as objects, also those that lack a kind or a version."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.diagnostics import Diagnostic
from webhook.manifests import Manifest, documents
from webhook.manifests.objects import items_of


def read(file: str, data: bytes, first_line: int = 1, number: int = 0) -> Iterator[Manifest | Diagnostic]:
    """Yield the objects of an input in order, and a diagnostic for each document that cannot be read."""
    for found in documents(file, data, first_line, number):
        if isinstance(found, Diagnostic):
            yield found
        elif isinstance(found.value, dict) and "items" not in found.value:
            yield Manifest(file, found, (), found.value)
        else:
            yield from items_of(file, found)
