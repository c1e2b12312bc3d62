"""Values of manifests as the parsers of the facts read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw

from webhook.manifests import Document, documents
from webhook.policy.workloads import paths

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


def at(value: object, *path: str) -> Any:
    """Return the value at a path of keys; None where there is none."""
    return paths.at(value, path)


_VALUES = ("valuesObject", "values", "valuesContent")
"""Where objects hold values of charts: as a mapping, or as text with YAML."""


class Values(NamedTuple):
    """Values of a chart, and its name where the object that holds them gives it; otherwise it is empty."""

    chart: str
    values: dict[str, Any]


def values_of(group: str, kind: str, value: object) -> Iterator[Values]:
    """Yield the values of charts that an object holds, which a controller renders."""
    for chart, holder in _holders(group, kind, at(value, "spec")):
        name = chart.rpartition("/")[2] if isinstance(chart, str) else ""
        for key in _VALUES:
            held = at(holder, key)
            if isinstance(held, str):
                held = _document(held)
            if isinstance(held, dict):
                yield Values(name, held)


def _holders(group: str, kind: str, spec: object) -> Iterator[tuple[object, object]]:
    """Yield the mappings of an object's spec that hold values, each with its chart."""
    match group, kind:
        case "helm.toolkit.fluxcd.io", "HelmRelease":
            yield at(spec, "chart", "spec", "chart"), spec
        case "helm.cattle.io", "HelmChart" | "HelmChartConfig":
            yield at(spec, "chart"), spec
        case "argoproj.io", "Application":
            yield from _helm(spec)
        case "argoproj.io", "ApplicationSet":
            yield from _helm(at(spec, "template", "spec"))


def _helm(spec: object) -> Iterator[tuple[object, object]]:
    sources = at(spec, "sources")
    for source in (at(spec, "source"), *(sources if isinstance(sources, list) else ())):
        yield at(source, "chart"), at(source, "helm")


def _document(text: str) -> object:
    """Return the first document of a text; None if it cannot be read."""
    found = next(documents("", text.encode(errors="replace")), None)
    return found.value if isinstance(found, Document) else None
