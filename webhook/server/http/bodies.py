"""The bodies of requests: read within a size, a time, and a room that all of them share."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from aiohttp import StreamReader, web

from webhook.server.capacity import SMALL_BODIES, Bounds
from webhook.server.errors import OverloadedError, RequestError
from webhook.server.http.large_reviews import LARGE

_FREE = 16 * 1024
"""Bytes of a body that take no room: more than the review of almost any pod."""


class Bodies:
    """Reads bodies, each within a size and all of them within a room.

    Small ones find more room than large ones, so that those who fill it keep no usual review out.
    """

    def __init__(self, bounds: Bounds, seconds: float) -> None:
        self._limit = bounds.body
        self._seconds = seconds
        self._room = bounds.bodies
        self.held = 0
        """Bytes of large bodies that are in memory."""

    async def read(self, request: web.BaseRequest, budget: float) -> bytes | bytearray:
        """The body, to be given back when it is done with. Raises RefusalError.

        `budget` is the seconds that the client waits for the answer. Half of them are left to a retry, as for a turn:
        the network, or a server that stood still, may have kept a body back that arrives at once the next time.
        """
        if (request.content_length or 0) > self._limit:
            raise self._too_large()
        content = request.content
        try:
            if content.is_eof():
                body: bytes | bytearray = content.read_nowait()
                self._take(0, len(body))
            else:
                _invite(request)
                body = await self._arriving(content, min(self._seconds, budget / 2))
        except TimeoutError:
            raise self._not_arrived(budget / 2) from None
        except (web.RequestPayloadError, ConnectionError) as error:
            raise RequestError(HTTPStatus.BAD_REQUEST, "the review ends before its length", closes=True) from error
        if not body:
            raise RequestError(HTTPStatus.BAD_REQUEST, "the request has no body")
        return body

    def give_back(self, size: int) -> None:
        """Free the room of a body of this size."""
        self.held -= _beyond(size)

    async def _arriving(self, content: StreamReader, seconds: float) -> bytearray:
        body = bytearray()
        try:
            async with asyncio.timeout(seconds):
                while not content.at_eof():
                    chunk = await content.readany()
                    self._take(len(body), len(body) + len(chunk))
                    body += chunk
        except BaseException:
            self.give_back(len(body))
            raise
        return body

    def _take(self, before: int, after: int) -> None:
        if after > self._limit:
            raise self._too_large()
        wanted = _beyond(after) - _beyond(before)
        room = self._room if after > LARGE else self._room + SMALL_BODIES
        if self.held + wanted > room:
            raise OverloadedError("memory", "large reviews are being read already")
        self.held += wanted

    def _not_arrived(self, half: float) -> RequestError:
        if half < self._seconds:
            return OverloadedError("slow", f"the review did not arrive within {half:g} s, half of its timeout")
        message = f"the review did not arrive within {self._seconds:g} s"
        return RequestError(HTTPStatus.REQUEST_TIMEOUT, message, closes=True)

    def _too_large(self) -> RequestError:
        message = f"a review has at most {self._limit} bytes"
        return RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, closes=True)


def _invite(request: web.BaseRequest) -> None:
    """Have a client send its body that waits to be told so (RFC 9110, 10.1.1)."""
    if "Expect" in request.headers and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _beyond(size: int) -> int:
    return size - _FREE if size > _FREE else 0
