"""Configurations of the device plugin among the inputs, each checked as an object of its own.

They stand in ConfigMaps, in values of charts and in files of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeGuard

from webhook.diagnostics import Diagnostic, Unread
from webhook.dryrun.charts import Values, at, values_of
from webhook.dryrun.evidence.first_pass import chart_values, may_configure_plugin
from webhook.manifests import Document, Manifest, Reason, Source, documents
from webhook.manifests.embedded import LARGEST, embedded
from webhook.manifests.objects import MOST_ERRORS, items_of, reviewed
from webhook.manifests.recognition import UnrenderedTemplate, is_review
from webhook.policy.sharing.context import as_object
from webhook.policy.sharing.fields import is_configuration, is_configuration_beside
from webhook.policy.sharing.names import VALUES, Section, sections, values_with
from webhook.policy.sharing.words import may_be_configuration, seems_to_share
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import group_of


def claim(document: Document) -> Reason | bool:
    """Whether a document is a configuration, or values of a chart that name some, of which the rest is not rendered."""
    value = document.value
    if is_configuration(value):
        return True
    if not isinstance(value, dict):
        return False
    values = Values("", Manifest("", document, (), value))
    return Reason.CHART if next(_of_values(values, "", ""), None) is not None else False


def read_values(unread: Unread) -> Source | Unread:
    """Return the values beside a Chart.yaml if they hold a configuration; otherwise the file stays unread."""
    values = chart_values(unread)
    if values is None or not may_configure_plugin(values.data):
        return unread
    found = next(documents(values.file, values.data), None)
    return values if isinstance(found, Document) and claim(found) else unread


def configurations(source: Source) -> Iterator[Manifest | Diagnostic]:
    """Yield the configurations of an input. Its errors are those of its objects, and end it as they do there."""
    file, errors = source.file, 0
    for document in documents(file, source.data, source.first_line, source.number):
        if isinstance(document, Diagnostic):
            errors += 1
            if errors == MOST_ERRORS:
                return
            continue
        value = document.value
        if not isinstance(value, dict):
            continue
        manifest = Manifest(file, document, (), value)
        if is_review(value):
            found = reviewed(file, document)
            yield from _of_object(found) if isinstance(found, Manifest) else ()
        elif "items" in value:
            for item in items_of(file, document):
                yield from _of_object(item) if isinstance(item, Manifest) else ()
        elif is_configuration(value):
            yield Manifest(file, document, (), as_object(value))
        elif "kind" in value or "apiVersion" in value:
            yield from _of_object(manifest)
        else:
            yield from _of_values(Values("", manifest), "", "")


def _of_object(manifest: Manifest) -> Iterator[Manifest | Diagnostic]:
    version, kind = manifest.value.get("apiVersion"), manifest.value.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return
    namespace, name = (at(manifest.value, "metadata", key) or "" for key in ("namespace", "name"))
    namespace, name = str(namespace), str(name)
    if (group_of(version), kind) == ("", "ConfigMap"):
        yield from _of_config_map(manifest, namespace, name)
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


def _of_values(values: Values, namespace: str, name: str) -> Iterator[Manifest | Diagnostic]:
    """Yield the sections of the plugin in values of a chart, as one object, and the configurations that they hold."""
    held, own = values.manifest, list[Section]()
    configured: list[Manifest | Diagnostic] = []
    for section in sections(values.values, *VALUES):
        found = [one for path in section.texts() for one in _of_text(held, path, namespace, name)]
        configured += found
        if section.is_of(values.chart, bool(found)):
            own.append(section)
    if own:
        yield Manifest(held.file, held.within, held.path, as_object(values_with(own), namespace, name, VALUES[1]))
    yield from configured


def _of_text(manifest: Manifest, path: Path, namespace: str, name: str) -> Iterator[Manifest | Diagnostic]:
    """Yield the configuration that a text of values is, or why it cannot be read."""
    text = manifest.at(path)
    if isinstance(text, str) and _may_be_configuration(text):
        yield from _of_read(manifest, path, embedded(manifest, path), is_configuration, namespace, name)


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
            yield Manifest(manifest.file, found, (), held)
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
