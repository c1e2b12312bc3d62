"""Kubernetes manifests from files, folders and standard input, with the line and column of every value."""

from __future__ import annotations

from webhook.manifests.files import Source, whole
from webhook.manifests.manifest import Builds, Document, Manifest
from webhook.manifests.objects import objects
from webhook.manifests.recognition import Reason
from webhook.manifests.sources import STDIN, Reading, is_pipe, source, sources
from webhook.manifests.stream import documents, in_sections
from webhook.manifests.text import Position

__all__ = [
    "STDIN",
    "Builds",
    "Document",
    "Manifest",
    "Position",
    "Reading",
    "Reason",
    "Source",
    "documents",
    "in_sections",
    "is_pipe",
    "objects",
    "source",
    "sources",
    "whole",
]
