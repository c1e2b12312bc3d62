"""Where the requests of a connection end, computed from the end of each header and the length of each body.

aiohttp does not report whether the bytes behind a request begin another header, and keeps them until the connection
ends. So it gets one request at a time.
"""

from __future__ import annotations

import string
from enum import Enum, auto

_LINE_ENDS = b"\r\n"
_HEADER_END = 2 * _LINE_ENDS
_LETTERS = string.ascii_letters.encode()

_LONGEST_HEADER = 32 * 1024
"""Bytes of a header. aiohttp quotes what it cannot parse, so each costs several bytes of memory."""

_ILLEGAL = b"\0"
"""A byte that no header contains: what makes aiohttp refuse a header that is cut there."""

_KEPT = 64 * 1024
"""Bytes of further requests that may wait behind one that is not answered."""


class _Phase(Enum):
    """What the bytes that arrive next belong to."""

    HEADER = auto()
    """The header of the next request."""

    PASSED = auto()
    """The request whose header has been passed on, and which has not begun."""

    BODY = auto()
    """The body of a request that has begun."""

    BEHIND = auto()
    """The requests behind one that has arrived and is not answered."""

    UNKNOWN = auto()
    """A body of unknown length."""

    ENDED = auto()
    """Nothing: the connection ends."""


class Framing:
    """Passes the bytes of a connection on, one request at a time. It reads no field: aiohttp is the only parser.

    aiohttp reports when a request begins, two turns of the loop after its bytes, and keeps what arrives behind it until
    the connection ends, even if that cannot be parsed. So it gets each header as a whole, then the body, and the next
    header when the request is answered.
    """

    def __init__(self) -> None:
        self._phase = _Phase.HEADER
        self._kept = bytearray()
        self._searched = 0
        self._body_left = 0
        self._is_answered = False

    @property
    def has_header(self) -> bool:
        """Whether the header of a request that has not begun has been passed on."""
        return self._phase is _Phase.PASSED

    @property
    def has_bytes(self) -> bool:
        """Whether bytes of a request that has not begun have arrived."""
        return self.has_header or bool(self._kept)

    @property
    def is_lost(self) -> bool:
        """Whether the connection cannot carry another request."""
        return self._phase in (_Phase.UNKNOWN, _Phase.ENDED)

    def feed(self, data: bytes) -> bytes:
        """Follow bytes that have arrived; what to pass on."""
        match self._phase:
            case _Phase.HEADER:
                self._kept += data
                return self._next_header()
            case _Phase.BODY:
                return self._through_body(data)
            case _Phase.PASSED | _Phase.BEHIND:
                self._kept += data
                self._bound()
            case _Phase.UNKNOWN:
                return data
        return b""

    def begin(self, length: int | None) -> bytes:
        """Begin the request whose header has been passed on; what to pass on of its body.

        `length` is that of its body; None where that is not known beforehand.
        """
        arrived = bytes(self._kept)
        self._kept.clear()
        if length is None:
            self._phase = _Phase.UNKNOWN
            return arrived
        self._phase = _Phase.BODY
        self._body_left, self._is_answered = length, False
        body = self._through_body(arrived)
        self._bound()
        return body

    def finish(self) -> bytes:
        """The request that has begun is answered; what to pass on of the next one."""
        self._is_answered = True
        return self._next_header() if self._phase is _Phase.BEHIND else b""

    def end(self) -> None:
        self._phase, self._kept = _Phase.ENDED, bytearray()

    def _bound(self) -> None:
        if self._phase is _Phase.BEHIND and len(self._kept) > _KEPT:
            self.end()

    def _through_body(self, data: bytes) -> bytes:
        """The part of the bytes that belongs to the body. The others wait for the answer."""
        body = data[: self._body_left]
        self._body_left -= len(body)
        if self._body_left:
            return body
        self._phase = _Phase.BEHIND
        if len(body) < len(data):
            self._kept += data[len(body) :]
        return body + self._next_header() if self._is_answered else body

    def _next_header(self) -> bytes:
        """The next header, once it has arrived. One that is too long, or that cannot be HTTP, ends the connection."""
        if self._phase is not _Phase.HEADER:
            self._phase, self._searched = _Phase.HEADER, 0
        if not self._kept:
            return b""
        if not self._searched and self._kept[0] in _LINE_ENDS:  # RFC 9112, 2.2: no part of the request that follows
            self._kept = self._kept.lstrip(_LINE_ENDS)
        found = self._kept.find(_HEADER_END, self._searched, _LONGEST_HEADER)
        # A request begins with its method. A client that speaks TLS waits for an answer to its first bytes.
        is_http = not self._kept or self._kept[0] in _LETTERS
        if found < 0 and is_http and len(self._kept) < _LONGEST_HEADER:
            self._searched = max(0, len(self._kept) - len(_HEADER_END) + 1)
            return b""
        end = found + len(_HEADER_END) if found >= 0 else _LONGEST_HEADER
        header = bytes(self._kept[:end])
        del self._kept[:end]
        self._phase, self._searched = _Phase.PASSED, 0
        return header if found >= 0 else header + _ILLEGAL
