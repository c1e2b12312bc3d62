"""Kubernetes manifests from files, folders and standard input, with the line and column of every value."""

from __future__ import annotations

from webhook.manifests.manifest import Document, Manifest
from webhook.manifests.position import Position
from webhook.manifests.reader import documents, has_documents, read
from webhook.manifests.sources import STDIN, Source, source, sources

__all__ = [
    "STDIN",
    "Document",
    "Manifest",
    "Position",
    "Source",
    "documents",
    "has_documents",
    "read",
    "source",
    "sources",
]
