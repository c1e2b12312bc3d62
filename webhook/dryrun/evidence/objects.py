"""Values of manifests as the parsers of the facts read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

Decoder: TypeAlias = Callable[[Raw], tuple[str, Any]]
"""Reads an object as the API server writes it: its name, and the facts about it. Raises msgspec.MsgspecError."""


def decoded(value: object, decoder: Decoder) -> tuple[str, Any] | None:
    """Return what a decoder reads in an object of a manifest; None for one that the API server would reject."""
    for accept in (_as_written, _accepted):
        try:
            return decoder(Raw(msgspec.json.encode(accept(value))))
        except (msgspec.MsgspecError, OverflowError, RecursionError, TypeError, ValueError):
            continue
    return None


def _as_written(value: object) -> object:
    return value


_QUANTITIES = ("capacity", "allocatable")
_TEXTS = ("labels", "nodeSelector", "data", "binaryData")
_DEEPEST = 4
"""Levels of mappings and lists that are read. The item `spec.taints[0]` is at the fourth."""


def _accepted(value: object, key: str = "", depth: int = _DEEPEST) -> object:
    """Return an object as the API server writes it: null becomes the zero value, and a number in a quantity text."""
    if isinstance(value, list) and depth:
        return [_accepted(one, "", depth - 1) for one in value]
    if not isinstance(value, dict) or not depth:
        return value
    if key in _QUANTITIES:
        return {name: _quantity(one) for name, one in value.items()}
    if key in _TEXTS:
        return {name: "" if one is None else one for name, one in value.items()}
    return {name: _accepted(one, name, depth - 1) for name, one in value.items() if one is not None}


def _quantity(value: object) -> object:
    if value is None:
        return "0"
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
