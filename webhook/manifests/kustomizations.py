"""The files that a kustomization uses as parts of objects, so that they are no objects themselves."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath

from webhook.diagnostics import Diagnostic
from webhook.manifests.manifest import Document
from webhook.manifests.reader import documents

_LISTS = ("patchesStrategicMerge", "configurations", "transformers", "generators", "validators")
"""Fields with names of files, or with text in their place."""
_WITH_PATH = ("patches", "patchesJson6902", "replacements")
_GENERATORS = ("configMapGenerator", "secretGenerator")


def used_files(file: str, data: bytes, folder: str) -> frozenset[str] | Diagnostic:
    """Return the files that a kustomization in a folder uses but does not apply as they are.

    The paths begin where that of the folder begins, which ends with a slash unless it is empty.
    """
    used: set[str] = set()
    for found in documents(file, data):
        if isinstance(found, Diagnostic):
            return found
        used |= _used(found)
    return frozenset(normpath(folder + name) for name in used)


def _used(document: Document) -> set[str]:
    value = document.value
    if not isinstance(value, dict):
        return set()
    names = {*_names(value), *_of_charts(value)}
    return names.difference(_texts(value.get("resources")), _texts(value.get("bases")))


def _names(value: dict[str, object]) -> Iterator[str]:
    for field in _LISTS:
        yield from _texts(value.get(field))
    for field in _WITH_PATH:
        for item in _mappings(value.get(field)):
            yield from _texts([item.get("path")])
    for field in _GENERATORS:
        for item in _mappings(value.get(field)):
            # The form KEY=FILE names the key of the generated object.
            yield from (name.rpartition("=")[2] for name in _texts(item.get("files")))
    yield from (name for item in _mappings([value.get("openapi")]) for name in _texts([item.get("path")]))


def _of_charts(value: dict[str, object]) -> Iterator[str]:
    for item in _mappings(value.get("helmCharts")):
        yield from _texts([item.get("valuesFile")])
        yield from _texts(item.get("additionalValuesFiles"))


def _mappings(value: object) -> Iterator[dict[str, object]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def _texts(value: object) -> Iterator[str]:
    """Yield the names in a list; text over several lines is a patch itself."""
    return (
        (item for item in value if isinstance(item, str) and "\n" not in item) if isinstance(value, list) else iter(())
    )
