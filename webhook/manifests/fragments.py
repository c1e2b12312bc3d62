"""Parts of objects, in documents that kustomize merges into others: patches, and kustomizations themselves."""

from __future__ import annotations

from posixpath import basename

from webhook.manifests.manifest import Document, Manifest
from webhook.manifests.recognition import KUSTOMIZATION_FILES
from webhook.policy.workloads.without_pods import FRAGMENT, KUSTOMIZATION


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
    return Manifest(file, document.held_by(held, "operations"), (), held)
