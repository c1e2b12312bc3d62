"""The amount of structure in a body, counted before decoding: memory and time depend on structure, not on bytes.

Three bytes of JSON, `{},`, become 70 bytes once decoded, and a few more bytes become 270. Decoding is one call that no
other thread can interrupt, and an integer of 4,300 digits takes 0.1 ms of it. So costly structure is counted in the
text.
"""

from __future__ import annotations

from webhook.policy.messages import printable

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
