"""The kustomizations of a folder: what is checked of them as it stands, and the command that builds them.

No file is left out because a kustomization names it, or a file of its author could hide any other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from posixpath import normpath

from webhook.diagnostics import Diagnostic
from webhook.manifests.files import read_file
from webhook.manifests.manifest import Document
from webhook.manifests.reader import documents
from webhook.manifests.recognition import KUSTOMIZATION_FILES

_WITH_PATH = ("patches", "patchesJson6902", "replacements")
"""Fields with parts in files of their own, beside those in `patchesStrategicMerge`."""


def parts_of(path: str, below: str, names: Collection[str]) -> frozenset[str]:
    """Return the paths of the files that the kustomizations of a folder, with files of these names, merge into objects.

    The paths begin where `below` does, which ends with a slash unless it is empty. What cannot be read is reported
    where the file is read.
    """
    parts: frozenset[str] = frozenset()
    for name in KUSTOMIZATION_FILES:
        data = read_file(f"{path}/{name}") if name in names else b""
        found = data if isinstance(data, Diagnostic) else used_files(name, data, below)
        parts = parts if isinstance(found, Diagnostic) else parts | found
    return parts


def used_files(file: str, data: bytes, folder: str) -> frozenset[str] | Diagnostic:
    """Return the files that a kustomization in a folder merges into objects, and that it does not apply as they are."""
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
    return set(_names(value)).difference(_texts(value.get("resources")), _texts(value.get("bases")))


def _names(value: dict[str, object]) -> Iterator[str]:
    yield from _texts(value.get("patchesStrategicMerge"))
    for field in _WITH_PATH:
        items = value.get(field)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                yield from _texts([item.get("path")])


def _texts(value: object) -> Iterator[str]:
    """Yield the names in a list; text over several lines is a patch itself."""
    return (
        (item for item in value if isinstance(item, str) and "\n" not in item) if isinstance(value, list) else iter(())
    )
