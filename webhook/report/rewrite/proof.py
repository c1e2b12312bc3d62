"""The proof of an edited file: it is read again, and each value must be as the edits make it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from webhook.diagnostics import Diagnostic
from webhook.manifests import Document, documents
from webhook.report.mutation import Mutation


def wrong(before: bytes, after: bytes, edited: Mapping[int, Sequence[Mutation]]) -> set[int]:
    """Return the numbers of the documents of a file that are not as expected; 0 if a document appears.

    `edited` holds the edits by the number of their document. All other values must be as they were.
    """
    found: set[int] = set()
    for old, new in zip_longest(documents("", before), documents("", after)):
        if isinstance(old, Diagnostic) and isinstance(new, Diagnostic):
            continue
        if not (isinstance(old, Document) and isinstance(new, Document) and old.number == new.number):
            # From here on, the two no longer go together.
            return found | {old.number if isinstance(old, Document) else 0}
        if not _agree(old.value, new.value, _by_path(edited.get(old.number, ()))):
            found.add(old.number)
    return found


def _by_path(mutations: Sequence[Mutation]) -> Any:
    """Return the mutations of a document in mappings by the steps of their paths. No object is inside another."""
    tree: Any = {}
    for one in mutations:
        if not one.manifest.path:
            return one
        *above, last = one.manifest.path
        inner = tree
        for step in above:
            inner = inner.setdefault(step, {})
        inner[last] = one
    return tree


def _agree(old: Any, new: Any, edited: Any) -> bool:
    """Return whether a value has become what the edits make of it."""
    if isinstance(edited, Mutation):
        return _canonical(_without_implied(edited.edited(), old)) == _canonical(new)
    if not edited:
        return _canonical(old) == _canonical(new)
    if type(old) is not type(new) or len(old) != len(new):
        return False
    keys = old if isinstance(old, dict) else range(len(old))
    return all(
        (key in new if isinstance(new, dict) else True) and _agree(old[key], new[key], edited.get(key)) for key in keys
    )


def _without_implied(value: Any, old: Any) -> Any:
    """Return an edited object with the kind and the version of the text: a list implies those of its items."""
    kept = {key: one for key, one in value.items() if key not in _IMPLIED}
    return {**kept, **{key: old[key] for key in _IMPLIED if key in old}}


_IMPLIED = ("apiVersion", "kind")


def _canonical(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
