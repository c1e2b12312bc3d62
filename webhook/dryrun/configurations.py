"""Configurations of the device plugin among the inputs, each checked as an object of its own.

They stand in ConfigMaps, in values of charts and in files of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from webhook.diagnostics import Diagnostic, Unread
from webhook.dryrun.charts import Values, at, values_of
from webhook.dryrun.evidence.first_pass import chart_values, may_configure_plugin
from webhook.manifests import Document, Manifest, Reason, Source, documents
from webhook.manifests.embedded import LARGEST, embedded
from webhook.manifests.objects import MOST_ERRORS, items_of, reviewed
from webhook.manifests.recognition import is_review
from webhook.policy.sharing.context import as_object
from webhook.policy.sharing.fields import is_configuration, may_be_configuration
from webhook.policy.sharing.names import VALUES, Section, sections, values_with
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
        elif "kind" in value or "apiVersion" in value:
            yield from _of_object(manifest)
        elif is_configuration(value):
            yield Manifest(file, document, (), as_object(value))
        else:
            yield from _of_values(Values("", manifest), "", "")


def _of_object(manifest: Manifest) -> Iterator[Manifest | Diagnostic]:
    version, kind = manifest.value.get("apiVersion"), manifest.value.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return
    namespace, name = (at(manifest.value, "metadata", key) or "" for key in ("namespace", "name"))
    namespace, name = str(namespace), str(name)
    if (group_of(version), kind) == ("", "ConfigMap"):
        texts = at(manifest.value, "data")
        for key in texts if isinstance(texts, dict) else ():
            yield from _of_text(manifest, ("data", key), namespace, name)
    else:
        for values in values_of(manifest):
            yield from _of_values(values, namespace, name)


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
    """Yield the configuration that a text of an object is, or why it cannot be read."""
    text = manifest.at(path)
    if not isinstance(text, str) or not may_be_configuration(text):
        return
    if len(text) > LARGEST and _SEEMS_TO_SHARE.search(text):
        yield manifest.diagnostic(path, f"a configuration of more than {LARGEST} characters is not checked")
        return
    found = embedded(manifest, path)
    value: Any = found.value if isinstance(found, Document) else None
    if isinstance(found, Document) and is_configuration(value):
        key = str(path[-1])
        yield Manifest(manifest.file, found, (), as_object(value, namespace, f"{name}/{key}" if name else key))
    elif isinstance(found, Diagnostic) and _SEEMS_TO_SHARE.search(text):
        yield replace(found, message=f"the device plugin cannot read this configuration: {found.message}")


_SEEMS_TO_SHARE: Final = re.compile(r"^[ \t]*+(?:mps|timeSlicing)[ \t]*+:", re.MULTILINE | re.IGNORECASE)
"""A line of a text that is not read and that seems to be a configuration."""
