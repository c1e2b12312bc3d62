"""How much structure a body holds, counted before it is decoded: memory follows structure, not bytes.

Three bytes of JSON, `{},`, become 70 bytes once decoded, and a few bytes more become 270. So a body's objects, lists
and values are counted while they are still text.
"""

from __future__ import annotations

from webhook.admission.errors import TooComplexError

CONTAINERS = 300_000
"""Objects and lists that a body may hold. A Deployment at the size limit of the API server holds some 100,000."""

VALUES = 2_000_000
"""Values that a body may hold.

An update of 3 MiB over a stored 1.5 MiB (the limits of the API server and of etcd, in protobuf, where a string of one
letter takes three bytes) holds at most 1,570,000. Together with `CONTAINERS` it keeps what is decoded within 15 times
the body and 32 MiB.
"""

_AS_VALUES = 4
"""An object or a list takes the memory of about this many short texts."""

_STRETCH = 64 * 1024
"""Bytes that are looked at in one go. No call holds the interpreter for longer than it takes to scan them."""

_IRRELEVANT = bytes(byte for byte in range(256) if byte not in b'"\\{[,')


def check(body: bytes | bytearray) -> None:
    """Count the objects, lists and values of a JSON text, in one pass. Raises TooComplexError.

    Brackets and commas within strings do not count. A text that is no JSON is counted up to its first mistake at
    least, which is where a decoder stops.
    """
    if len(body) <= CONTAINERS:  # fewer bytes than brackets are allowed, as in all but a few reviews
        return
    containers = commas = 0
    outside, pending = True, b""
    for start in range(0, len(body), _STRETCH):
        stretch = pending + body[start : start + _STRETCH]
        pending = b"\\" if _ends_within_escape(stretch) else b""
        structure, outside = _outside_strings(stretch[: len(stretch) - len(pending)], outside)
        containers += structure.count(b"{") + structure.count(b"[")
        commas += structure.count(b",")
        if containers > CONTAINERS:
            raise TooComplexError(f"a review has at most {CONTAINERS} objects and lists")
        if commas + _AS_VALUES * containers > VALUES:
            raise TooComplexError(f"a review has at most {VALUES} values; an object or a list counts as {_AS_VALUES}")


def _ends_within_escape(stretch: bytes) -> bool:
    return (len(stretch) - len(stretch.rstrip(b"\\"))) % 2 == 1


def _outside_strings(stretch: bytes, outside: bool) -> tuple[bytes, bool]:
    r"""The brackets, commas and quotes that are not within strings, and whether the end is not.

    `\\` goes before `\"`: what is left of a run of backslashes then is the one that escapes. Two quotes side by side
    change nothing for what surrounds them, and most strings are nothing else once their text is gone.
    """
    if b"\\" in stretch:
        stretch = stretch.replace(b"\\\\", b"").replace(b'\\"', b"")
    parts = stretch.translate(None, _IRRELEVANT + b"\\").replace(b'""', b"").split(b'"')
    return b"".join(parts[0 if outside else 1 :: 2]), outside is (len(parts) % 2 == 1)
