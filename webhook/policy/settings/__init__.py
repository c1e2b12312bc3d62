"""The settings: frozen dataclasses that carry defaults, bounds and descriptions."""

from __future__ import annotations

from dataclasses import field
from typing import TypeVar, cast

T = TypeVar("T")


def setting(default: T, description: str = "", *, key: str = "", shorthand: str = "") -> T:
    """A field with its default and its description, which a section of settings takes from its class.

    `key` is the field's name in the file where that is not the field's name in camelCase. `shorthand`: the key of
    a section that gets a list with the text that stands in place of the section. A field without a default needs
    `field(metadata={"description": ...})`.
    """
    metadata = {"description": description, "key": key, "shorthand": shorthand}
    if isinstance(default, dict):
        return cast("T", field(default_factory=default.copy, metadata=metadata))
    return field(default=default, metadata=metadata)
