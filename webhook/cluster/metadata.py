"""What the sources of facts read of an object's metadata."""

from __future__ import annotations

from msgspec import Struct


class Metadata(Struct):
    """The name of an object."""

    name: str


class LabelledMetadata(Metadata):
    """The name and the labels of an object."""

    labels: dict[str, str] | None = None
