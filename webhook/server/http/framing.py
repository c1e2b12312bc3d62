"""Where the requests of a connection end, computed from the end of each header and the length of each body."""

from __future__ import annotations

_HEADER_END = b"\r\n\r\n"

_KEPT = 64 * 1024
"""Bytes up to which segments of requests that have not begun are collected. The end of a longer header is not found."""


class Framing:
    """Follows the bytes of a connection from request to request. It reads no field: aiohttp is the only parser.

    aiohttp reports when a request begins, two turns of the loop after its bytes, but neither where the request ended
    nor whether another one has started behind it.
    """

    __slots__ = ("_body_left", "_header", "_kept", "_skipped", "has_bytes", "has_header", "is_lost")

    def __init__(self) -> None:
        self._kept: bytes | bytearray = b""
        self._header = 0
        self._skipped = 0
        self._body_left = 0
        self.has_bytes = False
        """Whether bytes of a request have arrived that has not begun."""
        self.has_header = False
        """Whether the header of that request is complete."""
        self.is_lost = False
        """Whether the end of a request could not be found, so that its connection cannot carry another one."""

    def feed(self, data: bytes) -> None:
        """Follow bytes that have arrived."""
        if self._body_left:
            body = min(self._body_left, len(data))
            self._body_left -= body
            data = data[body:]
        if self.has_bytes:
            self._append(data)
        elif not self.is_lost:
            self._start(data)

    def begin(self, length: int | None) -> None:
        """Begin the next request. `length` is that of its body; None where that is not known beforehand."""
        behind = len(self._kept) + self._skipped - self._header - (length or 0)
        if length is None or not self.has_header or (behind > 0 and self._skipped):
            self.is_lost = True
            behind = 0
        following = bytes(self._kept[-behind:]) if behind > 0 else b""
        self._body_left = -behind if behind < 0 else 0
        self._kept = b""
        self._skipped = 0
        self.has_bytes = self.has_header = False
        if following:
            self._start(following)

    def _start(self, data: bytes) -> None:
        """Keep the first bytes of a request as they are: they are usually all of it."""
        self._kept = data.lstrip(b"\r\n")  # RFC 9112, 2.2: line ends before a request are no part of it
        self.has_bytes = bool(self._kept)
        self._find_header(0)

    def _append(self, data: bytes) -> None:
        if isinstance(self._kept, bytes):
            self._kept = bytearray(self._kept)
        searched, room = len(self._kept), max(0, _KEPT - len(self._kept))
        self._kept += data[:room]
        self._skipped += max(0, len(data) - room)
        if not self.has_header:
            self._find_header(max(0, searched - len(_HEADER_END)))

    def _find_header(self, start: int) -> None:
        found = self._kept.find(_HEADER_END, start)
        self.has_header = found >= 0
        self._header = found + len(_HEADER_END)
