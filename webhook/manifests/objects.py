"""The objects of one input. What else it holds is an error where the file is named, and skipped in a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from posixpath import basename
from typing import TypeAlias

from webhook.diagnostics import Diagnostic, Listing, Unread
from webhook.manifests.files import Source
from webhook.manifests.manifest import Builds, Document, Manifest
from webhook.manifests.recognition import (
    FRAGMENT,
    KUSTOMIZATION,
    KUSTOMIZATION_FILES,
    Reason,
    Stranger,
    UnrenderedTemplate,
    is_review,
    recognized,
    unbuilt,
)
from webhook.manifests.stream import documents
from webhook.policy.messages import printable
from webhook.policy.pods.reading import type_of
from webhook.policy.verdict import Path

MOST_ERRORS = 200
"""Errors of an input after which the rest of it is not read. A large file is read as several inputs."""


Claim: TypeAlias = Callable[[str, Document], Sequence[Manifest | Diagnostic | Unread]]
"""What another reader finds in a document of a file that is no object; empty where it does not read it."""


def objects(source: Source | Builds, claim: Claim = lambda *_: ()) -> Iterator[Manifest | Diagnostic | Unread]:
    """Yield the objects of an input in order, and a diagnostic for each part that cannot be read.

    A document that is no object may be claimed, and is then no error. Of a file that was found in a folder, what was
    never meant to be a Kubernetes object is an `Unread`. Behind MOST_ERRORS errors, the rest is not read: to refuse a
    document of ten bytes costs as much as to check an honest one.
    """
    if isinstance(source, Builds):
        yield from source.objects
        return
    errors = 0
    for found in _named(source, claim) if source.named else _found(source, claim):
        yield found
        if isinstance(found, Diagnostic):
            errors += found.errors == 1  # a count of others comes at the end of the input
            if errors >= MOST_ERRORS:
                message = f"{errors} errors in what is above: some of the documents below are not read"
                yield Diagnostic(found.file, found.line, found.column, f"{message}; correct the errors", errors=0)
                return


def _named(source: Source, claim: Claim) -> Iterator[Manifest | Diagnostic | Unread]:
    file = source.file
    is_unbuilt = False
    for document in documents(file, source.data, source.first_line, source.number):
        if isinstance(document, Diagnostic):
            yield document
            continue
        content = _content(file, document)
        if isinstance(content, Stranger):
            yield from claim(file, document) or (_about(file, document, content),)
        else:
            is_unbuilt = source.first_line == 1 and basename(file) in KUSTOMIZATION_FILES
            yield from content
    if is_unbuilt:
        yield unbuilt(file)


def _found(source: Source, claim: Claim) -> Iterator[Manifest | Diagnostic | Unread]:
    file, data = source.file, source.data
    if not source.is_part and not _MARK.search(data):
        yield from _of_no_objects(file, data, claim)
        return
    reasons: dict[Reason, None] = {}
    listing = Listing()
    beside: list[Diagnostic] = []
    holds_objects = False
    for document in documents(file, data):
        if isinstance(document, UnrenderedTemplate):
            reasons[Reason.TEMPLATE] = None
        elif isinstance(document, Diagnostic):
            yield document
        elif source.is_part and not (basename(file) in KUSTOMIZATION_FILES and is_complete(document.value)):
            holds_objects = True
            yield fragment(file, document)
        elif isinstance(content := _content(file, document), Stranger):
            if claimed := claim(file, document):
                yield from claimed
                continue
            reasons[content.reason] = None
            if content.reason is not Reason.REVIEW:
                beside += listing.refuse(file, partial(_about, file, document, content))
        else:
            holds_objects = True
            yield from content
    if holds_objects:
        # Such a document is a mistake: kubectl rejects the file.
        yield from (*beside, *listing.end())
    unread = [reason for reason in reasons if not holds_objects or reason in (Reason.TEMPLATE, Reason.REVIEW)]
    if unread:
        yield unread[0].skips(file)


def _about(file: str, document: Document, stranger: Stranger) -> Diagnostic:
    return Diagnostic(file, *document.locate(stranger.path), stranger.message)


_HEADER = ("kind", "apiVersion")
_NO_NAME = (None, "")
_MARK = re.compile(rb"kind|apiVersion|[\\!\0]")
"""A key of an object, or what may spell it: escapes, tags such as `!!binary`, UTF-16. No other file holds objects."""

_LARGE = 64 * 1024
"""Bytes of a file that cannot hold objects and is not parsed either."""


def _of_no_objects(file: str, data: bytes, claim: Claim) -> Iterable[Manifest | Diagnostic | Unread]:
    """Return what is claimed of a file that cannot hold objects, or what it is, as its first document shows."""
    if len(data) > _LARGE:
        return (Reason.OTHER.skips(file),)
    first = next(documents(file, data), None)
    if first is None:
        return ()
    if isinstance(first, Document):
        stranger = recognized(file, first.value)
        return claim(file, first) or ((stranger.reason if stranger else Reason.OTHER).skips(file),)
    return ((Reason.TEMPLATE if isinstance(first, UnrenderedTemplate) else Reason.OTHER).skips(file),)


def _content(file: str, document: Document) -> Stranger | Iterable[Manifest | Diagnostic]:
    """Return the objects of a document, or what it is if it is none."""
    value = document.value
    if is_review(value):
        found = reviewed(file, document)
        if isinstance(found, Stranger):
            return found
    elif (stranger := recognized(file, value)) is not None:
        return stranger
    elif isinstance(value, dict) and "items" not in value:
        found = Manifest(file, document, (), value)
    else:
        return _complete(items_of(file, document))
    return (found if _is_complete(found) else _incomplete(found),)


_OF_LIST = frozenset((*_HEADER, "metadata", "items"))
"""The fields of a list of Kubernetes."""


def items_of(file: str, document: Document) -> Iterator[Manifest | Diagnostic]:
    """Yield the items of a list: an object with "items", as in kubectl (`UnstructuredJSONScheme`, k8s.io/apimachinery).

    If it has other fields, kubectl drops them, while Argo CD, for one, applies the object.
    """
    value = document.value
    if not isinstance(value, dict):
        message = f"a document must be a mapping with apiVersion and kind, not {type_of(value)}"
        yield Diagnostic(file, *document.locate(()), message)
        return
    kind, items = value.get("kind"), value["items"]
    if not value.keys() <= _OF_LIST and isinstance(kind, str) and not kind.endswith("List"):
        message = f'kubectl takes a {printable(kind)} with "items" for a list and drops the rest; remove "items"'
        yield Diagnostic(file, *document.locate(("items",)), message)
    if items is not None and not isinstance(items, list):
        yield Diagnostic(file, *document.locate(("items",)), f'"items" must be a list, not {type_of(items)}')
        return
    # The API server omits the kind and the apiVersion that a list implies to its items.
    implied = {"apiVersion": _name(value, "apiVersion"), "kind": _name(value, "kind").removesuffix("List")}
    listing = Listing()
    for index, item in enumerate(items or ()):
        if isinstance(item, dict) and item.get("items") is None:
            is_named = _name(item, "kind") or _name(item, "apiVersion")
            yield Manifest(file, document, ("items", index), item if is_named else {**item, **implied})
        else:
            yield from listing.refuse(file, partial(_no_item, file, document, index, item))
    yield from listing.end()


def _name(value: dict[str, object], key: str) -> str:
    name = value.get(key)
    return name if isinstance(name, str) else ""


def _no_item(file: str, document: Document, index: int, item: object) -> Diagnostic:
    path: Path = ("items", index)
    if not isinstance(item, dict):
        message = f"item {index} of the list must be a mapping with apiVersion and kind, not {type_of(item)}"
    elif isinstance(items := item["items"], list):
        message = "a list inside a list, which kubectl rejects; move its items up"
    else:
        path = (*path, "items")
        message = f'"items" must be a list, not {type_of(items)}'
    return Diagnostic(file, *document.locate(path), message)


def _complete(found: Iterable[Manifest | Diagnostic]) -> Iterator[Manifest | Diagnostic]:
    """Yield objects, with a diagnostic in place of each that lacks `kind` or `apiVersion`."""
    listing = Listing()
    for one in found:
        if isinstance(one, Diagnostic) or _is_complete(one):
            yield one
        else:
            yield from listing.refuse(one.file, partial(_incomplete, one))
    yield from listing.end()


def _is_complete(manifest: Manifest) -> bool:
    value = manifest.value
    return value.get("kind") not in _NO_NAME and value.get("apiVersion") not in _NO_NAME


def _incomplete(manifest: Manifest) -> Diagnostic:
    missing = [key for key in _HEADER if manifest.value.get(key) in _NO_NAME]
    named = " and ".join(f"no `{key}`" for key in missing)
    return manifest.diagnostic((missing[0],), f"{named}: not a Kubernetes object")


def is_complete(value: object) -> bool:
    """Return whether a document has the header of an object, so that it is checked as one."""
    return isinstance(value, dict) and value.get("kind") is not None and value.get("apiVersion") is not None


def fragment(file: str, document: Document) -> Manifest:
    """Return a document without a header as an object that is searched.

    A kustomization is one by its name, as for kustomize. Anything else is a fragment of an object, such as the list of
    operations of a JSON patch.
    """
    value = document.value
    is_kustomization = basename(file) in KUSTOMIZATION_FILES and isinstance(value, dict)
    group, kind = KUSTOMIZATION if is_kustomization else FRAGMENT
    header = {"apiVersion": f"{group}/v1beta1", "kind": kind}
    if isinstance(value, dict):
        return Manifest(file, document, (), {**value, **header})
    held = {**header, "operations": value}
    return Manifest(file, replace(document, value=held, key="operations"), (), held)


_OPERATIONS = ("CREATE", "UPDATE")
"""Operations with an object to check."""


def reviewed(file: str, document: Document) -> Manifest | Stranger:
    """Return the object of a review, in the namespace of its request; a stranger for a review without an object."""
    review = document.value
    request = review.get("request") if isinstance(review, dict) else None
    if not isinstance(request, dict):
        return Stranger(Reason.REVIEW, "a review without a request: there is no object to check")
    operation, namespace, value = request.get("operation"), request.get("namespace"), request.get("object")
    if operation not in _OPERATIONS:
        what = printable(operation) if isinstance(operation, str) else type_of(operation)
        return Stranger(Reason.REVIEW, f"a review of {what}: there is no object to check", ("request", "operation"))
    if not isinstance(value, dict):
        what = "a review without an object" if value is None else f"a review whose object is {type_of(value)}"
        return Stranger(Reason.REVIEW, f"{what}: there is nothing to check", ("request", "object"))
    within = namespace if isinstance(namespace, str) else ""
    return Manifest(file, document, ("request", "object"), value, within)
