"""Conditions in the status of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object


def met(found: Object, kind: str) -> bool:
    """Whether the object's condition of this type is met: its status is `True`.

    A new object may have no status, no conditions or `conditions: null`: Go writes a nil slice as null,
    and a CustomResourceDefinition is read that way until the API server takes it up.
    """
    conditions = found.get("status", {}).get("conditions") or ()
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)
