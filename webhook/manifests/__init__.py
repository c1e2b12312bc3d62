"""Kubernetes manifests from files, folders and standard input, with the line and column of every value."""

from __future__ import annotations

from webhook.manifests.manifest import Manifest
from webhook.manifests.position import Position
from webhook.manifests.reader import has_documents, read
from webhook.manifests.sources import STDIN, sources

__all__ = ["STDIN", "Manifest", "Position", "has_documents", "read", "sources"]
