"""Configurations of the device plugin among the inputs, each checked as an object of its own.

They stand in ConfigMaps, in values of charts and in files of their own. YAML inside a text of an object keeps the
positions of its values in the file.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeGuard

from webhook.diagnostics import Diagnostic, Unread
from webhook.dryrun.search import programs
from webhook.manifests import Document, Manifest, Reason
from webhook.manifests.embedded import LARGEST, embedded
from webhook.manifests.recognition import UnrenderedTemplate
from webhook.policy.sharing.config import (
    is_configuration,
    is_configuration_beside,
    may_be_configuration,
    seems_to_share,
)
from webhook.policy.sharing.objects import VALUES, ConfigSection, as_object, sections, values_with
from webhook.policy.verdict import Path
from webhook.policy.workloads import paths
from webhook.policy.workloads.kinds import group_of


def claim(file: str, document: Document) -> list[Manifest | Diagnostic | Unread]:
    """What a document that is no object holds: a configuration, or values of a chart that name some.

    The rest of such values is not rendered.
    """
    value = document.value
    if is_configuration(value):
        return [Manifest(file, document, (), as_object(value))]
    if not isinstance(value, dict):
        return []
    found = list(_of_values(Values("", Manifest(file, document, (), value)), "", ""))
    # The text of JSON is that of all documents of the input.
    if programs.WORDS.search(str(value) if document.is_json else document.text.content):
        found.append(Manifest(file, document, (), programs.as_object(value)))
    return [*found, Reason.CHART.skips(file)] if found else []


def configurations(manifest: Manifest) -> Iterator[Manifest | Diagnostic]:
    """Yield the configurations that an object holds, why one cannot be read, and values of programs in a Secret."""
    version, kind = manifest.value.get("apiVersion"), manifest.value.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return
    namespace, name = (str(at(manifest.value, "metadata", key) or "") for key in ("namespace", "name"))
    if (group_of(version), kind) == ("", "ConfigMap"):
        yield from _of_config_map(manifest, namespace, name)
    elif (group_of(version), kind) == ("", "Secret"):
        yield from _of_secret(manifest, namespace, name)
    else:
        for values in values_of(manifest):
            yield from _of_values(values, namespace, name)


def _of_config_map(manifest: Manifest, namespace: str, name: str) -> Iterator[Manifest | Diagnostic]:
    """Yield the configurations of a ConfigMap. Beside a configuration, other keys are some, too."""
    held = at(manifest.value, "data")
    texts = {key: text for key, text in held.items() if isinstance(text, str)} if isinstance(held, dict) else {}
    likely = {key: embedded(manifest, ("data", key)) for key, text in texts.items() if _may_be_configuration(text)}
    is_of_plugin = any(isinstance(found, Document) and is_configuration(found.value) for found in likely.values())
    is_one = is_configuration_beside if is_of_plugin else is_configuration
    for key in texts if is_of_plugin else likely:
        path = ("data", key)
        found = likely[key] if key in likely else embedded(manifest, path)
        if not isinstance(found, UnrenderedTemplate):  # of another program, or rendered before the plugin reads it
            yield from _of_read(manifest, path, found, is_one, namespace, name)


def _of_secret(manifest: Manifest, namespace: str, name: str) -> Iterator[Manifest]:
    """Yield the values of programs that a Secret encodes, such as those of JupyterHub's chart."""
    held = at(manifest.value, "data")
    for key, value in held.items() if isinstance(held, dict) else ():
        try:
            text = b64decode(value).decode() if isinstance(value, str) and len(value) < _MOST_ENCODED else ""
        except ValueError:
            continue
        if programs.WORDS.search(text) is None:
            continue
        found = embedded(manifest, ("data", key), decoded=text)
        if not isinstance(found, Document) or not isinstance(found.value, dict):
            found = embedded(manifest, ("data", key), decoded=json.dumps({key: text}))
        if isinstance(found, Document) and isinstance(found.value, dict):
            whole = programs.as_object(found.value, namespace, f"{name}/{key}")
            yield Manifest(manifest.origin(("data", key)).file, found, (), whole)


_MOST_ENCODED = 1024 * 1024 * 3 // 2
"""Characters of the longest value that is decoded: a Secret holds a mebibyte at most (`MaxSecretSize`)."""


def _of_values(values: Values, namespace: str, name: str) -> Iterator[Manifest | Diagnostic]:
    """Yield the sections of the plugin in values of a chart, as one object, and the configurations that they hold."""
    held, own = values.manifest, list[ConfigSection]()
    configured: list[Manifest | Diagnostic] = []
    for section in sections(values.values, *VALUES):
        found: list[Manifest | Diagnostic] = []
        for path in section.texts():
            if isinstance(text := held.at(path), str) and _may_be_configuration(text):
                found += _of_read(held, path, embedded(held, path), is_configuration, namespace, name)
        configured += found
        if section.is_of(values.chart, bool(found)):
            own.append(section)
    if own:
        yield held.below((), as_object(values_with(own, values.values), namespace, name, VALUES[1]))
    yield from configured


def _of_read(
    manifest: Manifest,
    path: Path,
    found: Document | Diagnostic | None,
    is_one: Callable[[object], TypeGuard[dict[str, Any]]],
    namespace: str,
    name: str,
) -> Iterator[Manifest | Diagnostic]:
    """Yield the configuration that was found in a text, or why it cannot be read if the text seems to share GPUs."""
    if isinstance(found, Document):
        if is_one(found.value):
            key = str(path[-1])
            held = as_object(found.value, namespace, f"{name}/{key}" if name else key)
            yield Manifest(manifest.origin(path).file, found, (), held)
        return
    text = manifest.at(path)
    if not isinstance(text, str) or not seems_to_share(text):
        return
    if len(text) > LARGEST:
        yield manifest.diagnostic(path, f"a configuration of more than {LARGEST} characters is not checked")
    elif isinstance(found, Diagnostic):
        yield replace(found, message=f"this configuration cannot be read: {found.message}")


def _may_be_configuration(text: str) -> bool:
    return may_be_configuration(text.encode(errors="replace"))


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


def _below(manifest: Manifest, path: Path) -> Manifest | None:
    """Return the mapping at a path of an object, or the one that a text there holds; None where there is none."""
    held = manifest.at(path)
    if isinstance(held, dict):
        return manifest.below(path, held)
    found = embedded(manifest, path)
    if not isinstance(found, Document) or not isinstance(found.value, dict):
        return None
    return Manifest(manifest.origin(path).file, found, (), found.value)


def values_of(manifest: Manifest) -> Iterator[Values]:
    """Yield the values of charts that an object holds, which a controller renders."""
    value = manifest.value
    for chart, holder in _holders(group_of(value["apiVersion"]), value["kind"], at(value, "spec")):
        name = _name_of(chart) if isinstance(chart, str) else ""
        for key in _VALUES:
            found = _below(manifest, ("spec", *holder, key))
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
