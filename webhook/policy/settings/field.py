"""One setting: a field of a frozen dataclass, with its default and what the reference says of it."""

from __future__ import annotations

from dataclasses import field
from typing import TypeVar, cast

T = TypeVar("T")


def setting(default: T, says: str, *, later: bool = False) -> T:
    """A field with its default and the sentence that the reference prints about it.

    `later`: the key is accepted and checked, but what differs from the default has no effect in this release.
    """
    metadata = {"says": says, "later": later}
    if isinstance(default, dict):
        return cast("T", field(default_factory=default.copy, metadata=metadata))
    return field(default=default, metadata=metadata)
