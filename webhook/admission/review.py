"""AdmissionReview v1: the fields of a request that are decoded.

The decoder skips `managedFields` and `status`, about half of the bytes. The rest of the object stays as it was sent,
unknown fields included: the patch contains paths into the object, which is never sent back itself.
"""

from __future__ import annotations

import math
import re
from enum import Enum
from typing import Any, TypedDict

import msgspec

from webhook.admission import structure
from webhook.admission.structure import BadReviewError
from webhook.policy.messages import printable
from webhook.policy.workloads.kinds import QUEUE_LABEL


class GroupKind(msgspec.Struct, frozen=True):
    """A group and kind."""

    kind: str
    group: str = ""


class User(msgspec.Struct, frozen=True):
    """The user who sends the request to the API server."""

    username: str = ""
    groups: list[str] | None = None


Labels = TypedDict("Labels", {QUEUE_LABEL: Any}, total=False)  # type: ignore[misc]  # mypy wants the text itself
"""The only label of an object that matters."""


class ReceivedMetadata(TypedDict, total=False):
    """The part of an object's metadata that is decoded."""

    name: str | None
    generateName: str | None
    labels: Labels | None
    annotations: dict[str, Any] | None


class ReceivedObject(TypedDict, total=False):
    """An object without the fields that only the API server needs.

    `template` is that of a PodTemplate, `inference` that of a Workspace of KAITO, `data` that of a ConfigMap.
    """

    apiVersion: Any
    kind: Any
    metadata: ReceivedMetadata | None
    spec: Any
    template: Any
    inference: Any
    data: Any


class Request(msgspec.Struct, frozen=True):
    """The request of a review."""

    uid: str
    kind: GroupKind
    operation: str
    object: ReceivedObject | None = None
    oldObject: ReceivedObject | None = None  # noqa: N815 - the API's own name
    subResource: str = ""  # noqa: N815
    name: str = ""
    namespace: str = ""
    userInfo: User = User()  # noqa: N815
    dryRun: bool | None = None  # noqa: N815


class Review(msgspec.Struct, frozen=True):
    """A review as received."""

    apiVersion: str  # noqa: N815
    kind: str
    request: Request | None = None


def _float(text: str) -> float:
    """A number with a fraction or an exponent. Raises ValueError.

    The decoder's own conversion takes up to 10 µs and blocks all other threads: 5 s for 14 MiB of numbers. This one
    takes 1 µs, and other threads run between the calls.
    """
    value = float(text)
    if math.isinf(value):
        raise ValueError("Number out of range")
    return value


_decoder = msgspec.json.Decoder(Review, float_hook=_float)
_VERSION = "admission.k8s.io/v1"
_UID = 128
"""Characters of the longest uid that is accepted; the API server sends 36."""

_SHOWN = 60
"""Characters of a wrong name that a message quotes."""


def read(body: bytes | bytearray) -> Request:
    """The request of a review. Raises BadReviewError, and TooComplexError for a review that is not decoded at all."""
    structure.check(body)
    try:
        review = _decoder.decode(body)
    except msgspec.ValidationError as error:
        raise BadReviewError(_plainly(str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadReviewError(f"not JSON: {str(error).removeprefix('JSON is malformed: ')}") from None
    except RecursionError:
        raise BadReviewError("not an AdmissionReview: nested too deeply") from None
    if review.kind != "AdmissionReview":
        raise BadReviewError(f"kind is {_shown(review.kind)}; only AdmissionReview is supported")
    if review.apiVersion != _VERSION:
        raise BadReviewError(f"apiVersion is {_shown(review.apiVersion)}; only {_VERSION} is supported")
    if review.request is None:
        raise BadReviewError("the review has no request")
    if not review.request.uid:
        raise BadReviewError("the request has no uid")
    if len(review.request.uid) > _UID:
        raise BadReviewError(f"the request's uid has more than {_UID} characters")
    return review.request


_WRONG_TYPE = re.compile(r"Expected `([^`]+)`, got `(\w+)`(?: - at `\$\.?([^`]*)`)?")
_LACKING = re.compile(r"Object missing required field `(\w+)`(?: - at `\$\.?([^`]*)`)?")
_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "str": "text",
    "int": "a number",
    "float": "a number",
    "bool": "a boolean",
    "null": "null",
}
_OBJECT = "request.object"


def _plainly(error: str) -> str:
    """The decoder's message, in the wording of MalformedError."""
    if wrong := _WRONG_TYPE.match(error):
        wanted = _WORDS.get(wrong[1].partition(" ")[0], wrong[1])
        return f"{_place(wrong[3] or '')}: expected {wanted}, found {_WORDS.get(wrong[2], wrong[2])}"
    if lacking := _LACKING.match(error):
        return f"{_place(lacking[2] or '')}: has no {lacking[1]}"
    return f"not an AdmissionReview: {error}"


def _place(path: str) -> str:
    if path.startswith(_OBJECT):
        return f"the object is malformed at {path.removeprefix(_OBJECT).replace('.', '/') or '/'}"
    return f"the review is malformed at {'/' + path.replace('.', '/')}"


def _shown(name: str) -> str:
    return f'"{printable(name, _SHOWN)}"'


class Hook(Enum):
    """One hook. `hostpath`: whether its path is the one for namespaces that allow hostPath; None without such paths."""

    MUTATE = ("/mutate", "mutate", True)
    MUTATE_WITHOUT_HOSTPATH = ("/mutate/without-hostpath", "mutate", False)
    VALIDATE = ("/validate", "validate", None)

    def __init__(self, path: str, label: str, hostpath: bool | None) -> None:
        self.path = path
        self.label = label
        self.hostpath = hostpath
        self.mutates = label == "mutate"
