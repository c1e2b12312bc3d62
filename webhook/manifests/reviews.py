"""AdmissionReviews as manifests: the object that one asks about."""

from __future__ import annotations

from webhook.manifests.manifest import Document, Manifest
from webhook.manifests.recognition import Reason, Stranger
from webhook.policy.pods.reading import type_of
from webhook.policy.printable import printable

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
