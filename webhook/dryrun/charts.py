"""Values of charts inside objects, which a controller renders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from webhook.manifests import Document, Manifest
from webhook.manifests.embedded import embedded
from webhook.policy.verdict import Path
from webhook.policy.workloads import paths
from webhook.policy.workloads.kinds import group_of

_VALUES = ("valuesObject", "values", "valuesContent")
"""Where objects hold values of charts: as a mapping, or as text with YAML."""


class Values(NamedTuple):
    """Values of a chart, and its name where the object that holds them gives it; otherwise it is empty."""

    chart: str
    manifest: Manifest

    @property
    def values(self) -> dict[str, Any]:
        return self.manifest.value


def at(value: object, *path: str | int) -> Any:
    """Return the value at a path; None where there is none."""
    return paths.at(value, path)


def below(manifest: Manifest, path: Path) -> Manifest | None:
    """Return the mapping at a path of an object, or the one that a text there holds; None where there is none."""
    held = manifest.at(path)
    if isinstance(held, dict):
        return Manifest(manifest.file, manifest.within, manifest.path + path, held)
    found = embedded(manifest, path)
    if not isinstance(found, Document) or not isinstance(found.value, dict):
        return None
    return Manifest(manifest.file, found, (), found.value)


def values_of(manifest: Manifest) -> Iterator[Values]:
    """Yield the values of charts that an object holds, which a controller renders."""
    value = manifest.value
    for chart, holder in _holders(group_of(value["apiVersion"]), value["kind"], at(value, "spec")):
        name = _name_of(chart) if isinstance(chart, str) else ""
        for key in _VALUES:
            found = below(manifest, ("spec", *holder, key))
            if found is not None:
                yield Values(name, found)


_VERSION = re.compile(r"-v?[0-9]+\.")


def _name_of(chart: str) -> str:
    """Return the name of a chart, which may stand at the end of an address; empty for that of a template."""
    name = chart.rpartition("/")[2]
    if "{" in name:
        return ""
    return _VERSION.split(name, maxsplit=1)[0] if name.endswith(".tgz") else name


def _holders(group: str, kind: str, spec: object) -> Iterator[tuple[object, Path]]:
    """Yield the paths in an object's spec to the mappings that hold values, each with its chart."""
    match group, kind:
        case "helm.toolkit.fluxcd.io", "HelmRelease":
            yield at(spec, "chart", "spec", "chart"), ()
        case "helm.cattle.io", "HelmChart" | "HelmChartConfig":
            yield at(spec, "chart"), ()
        case "argoproj.io", "Application":
            yield from _sources(spec, ())
        case "argoproj.io", "ApplicationSet":
            yield from _sources(at(spec, "template", "spec"), ("template", "spec"))


def _sources(spec: object, path: Path) -> Iterator[tuple[object, Path]]:
    yield at(spec, "source", "chart"), (*path, "source", "helm")
    sources = at(spec, "sources")
    for index in range(len(sources) if isinstance(sources, list) else 0):
        yield at(sources[index], "chart"), (*path, "sources", index, "helm")
