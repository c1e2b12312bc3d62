"""AdmissionReview v1: how much structure a body may have, and the fields of a request that are decoded.

Memory and time depend on structure, not on bytes: three bytes of JSON, `{},`, become 70 bytes once decoded, and a few
more bytes become 270. Decoding is one call that no other thread can interrupt, and an integer of 4,300 digits takes
0.1 ms of it. So costly structure is counted in the text before.

The decoder skips `managedFields` and `status`, about half of the bytes. The rest of the object stays as it was sent,
unknown fields included: the patch contains paths into the object, which is never sent back itself.
"""

from __future__ import annotations

import math
import re
from enum import Enum
from typing import Any, TypedDict

import msgspec

from webhook.policy.messages import printable
from webhook.policy.workloads.kinds import QUEUE_LABEL

_MESSAGE = 400
"""Characters of a message. A path with long keys is shortened; the reason at its end is kept."""


class BadReviewError(Exception):
    """A review that cannot be answered. The message states the reason and is safe to print."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message, _MESSAGE))


class TooComplexError(BadReviewError):
    """A review with more structure than is decoded. The message states the limit."""


CONTAINERS = 300_000
"""Objects and lists that a body may hold. A Deployment at the size limit of the API server holds some 100,000."""

KEYS = 500_000
"""Keys of objects that a body may hold: as one object they take 0.1 s to decode, and three times as many 0.5 s.

An update of 3 MiB over a stored 1.5 MiB, the limits of the API server and of etcd, holds at most 470,000 in one object.
"""

VALUES = 1_600_000
"""Values that a body may hold.

The same update holds at most 1,570,000: in protobuf a text of one letter takes three bytes. Together with
`CONTAINERS` it keeps what is decoded within about 15 times the body and 32 MiB.
"""

DIGITS = 400
"""Digits in a row that a number may have; the largest that Kubernetes can hold, a float64, has 309."""

_AS_VALUES = 3
"""An object or a list takes the memory of about this many short texts."""

STRETCH = 64 * 1024
"""Bytes per step. No call holds the interpreter for longer than it takes to scan them."""

_RELEVANT = b'"{[,:0123456789'
_IRRELEVANT = bytes(byte for byte in range(256) if byte not in _RELEVANT)
_DIGITS_AS_ZERO = bytes.maketrans(b"123456789", b"0" * 9)


def check(body: bytes | bytearray) -> None:
    """Count the objects, lists, keys and values of a JSON text, in one pass. Raises TooComplexError.

    Brackets and commas within strings do not count. Text that is not JSON is counted at least up to its first
    error, where a decoder stops.
    """
    if len(body) <= CONTAINERS:  # fewer bytes than allowed brackets, as in almost all reviews
        return
    containers = keys = commas = 0
    outside, pending = True, b""
    for start in range(0, len(body), STRETCH):
        stretch = pending + body[start : start + STRETCH]
        ends_within_escape = (len(stretch) - len(stretch.rstrip(b"\\"))) % 2 == 1
        pending = b"\\" if ends_within_escape else b""
        structure, outside = _outside_strings(stretch[: len(stretch) - len(pending)], outside)
        containers += structure.count(b"{") + structure.count(b"[")
        keys += structure.count(b":")
        commas += structure.count(b",")
        if containers > CONTAINERS:
            raise TooComplexError(f"a review has at most {CONTAINERS} objects and lists")
        if keys > KEYS:
            raise TooComplexError(f"the objects of a review have at most {KEYS} keys")
        if commas + _AS_VALUES * containers > VALUES:
            raise TooComplexError(f"a review has at most {VALUES} values; an object or a list counts as {_AS_VALUES}")
        if b"0" * (DIGITS + 1) in structure:
            raise TooComplexError(f"a number of a review has at most {DIGITS} digits")


def _outside_strings(stretch: bytes, outside: bool) -> tuple[bytes, bool]:
    r"""What counts and is not within strings, with zeros for digits, and whether the end is not within one either.

    `\\` goes before `\"`: what is left of a run of backslashes then is the one that escapes. Two quotes side by side
    change nothing for what surrounds them, and most strings are nothing else once their text is gone.
    """
    if b"\\" in stretch:
        stretch = stretch.replace(b"\\\\", b"").replace(b'\\"', b"")
    parts = stretch.translate(_DIGITS_AS_ZERO, _IRRELEVANT).replace(b'""', b"").split(b'"')
    return b"".join(parts[0 if outside else 1 :: 2]), outside is (len(parts) % 2 == 1)


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
    check(body)
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
