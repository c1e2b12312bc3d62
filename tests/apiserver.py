"""What the API server does with a webhook's answer, as far as it can refuse one.

A port of k8s.io/apiserver pkg/admission/plugin/webhook/request VerifyAdmissionResponse, of the dispatchers' handling
of patches, and of errors.ToStatusErr. `jsonpatch` stands in for its patch library.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import jsonpatch

_TYPES = {
    "uid": str,
    "allowed": bool,
    "status": dict,
    "patch": str,
    "patchType": str,
    "auditAnnotations": dict,
    "warnings": list,
}


class UnusableError(Exception):
    """The API server takes the answer for a failure of the webhook."""


@dataclass(frozen=True, slots=True)
class Reception:
    """What the API server uses: the object after the patch, or the denial that the user reads."""

    allowed: bool
    object: Any
    code: int | None
    message: str
    warnings: list[str]
    audit: dict[str, str]


def receive(answer: bytes, request: dict[str, Any], *, mutating: bool) -> Reception:
    """Take an answer to a request as the API server does. Raises UnusableError."""
    review = json.loads(answer)
    if (review.get("apiVersion"), review.get("kind")) != ("admission.k8s.io/v1", "AdmissionReview"):
        raise UnusableError("of another kind")
    response = review.get("response")
    if response is None:
        raise UnusableError("without a response")
    for field, value in response.items():
        if not isinstance(value, _TYPES[field]):
            raise UnusableError(f"{field} is of the wrong type")
    if response.get("uid") != request["uid"]:
        raise UnusableError("uid is another")
    patch, patch_type = response.get("patch"), response.get("patchType")
    if bool(patch) != (patch_type is not None):
        raise UnusableError("patch and patchType go together")
    if patch and not mutating:
        raise UnusableError("a validating webhook may not patch")
    if not response.get("allowed"):
        return _refused(response)
    patched = _patched(request["object"], patch, patch_type) if patch else request["object"]
    return Reception(True, patched, None, "", response.get("warnings", []), response.get("auditAnnotations", {}))


def _refused(response: dict[str, Any]) -> Reception:
    status = response.get("status") or {}
    code = max(status.get("code", 0), 400)
    message = status.get("message") or status.get("reason") or "without explanation"
    return Reception(False, None, code, message, response.get("warnings", []), response.get("auditAnnotations", {}))


def _patched(document: Any, patch: str, patch_type: str) -> Any:
    if patch_type != "JSONPatch":
        raise UnusableError(f"patchType {patch_type}")
    operations = json.loads(base64.b64decode(patch, validate=True))
    return jsonpatch.apply_patch(document, operations)
