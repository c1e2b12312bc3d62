"""Request bodies: read within a size, a time, and memory that all of them share."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from aiohttp import StreamReader, web

from webhook.server.errors import OverloadedError, RequestError
from webhook.server.http.load import LARGE
from webhook.server.http.protocol import SMALL
from webhook.server.limits import SMALL_BODIES, Bounds

_CHUNKS = 256
"""Chunks that a body of any size may have."""

_CHUNK = 512
"""Bytes of a body for each further chunk. Each costs a few microseconds, and proxies send 4 KiB and more in one."""


class Bodies:
    """Reads bodies, each within a size and all of them within an amount of memory.

    Small bodies may use more of it than large ones, so that large reviews keep no usual one out.
    """

    def __init__(self, bounds: Bounds, seconds: float) -> None:
        self.limit = bounds.body
        self._seconds = seconds
        self._memory = bounds.bodies
        self.held = 0
        """Bytes of large bodies that are in memory."""

    async def read(self, request: web.BaseRequest, budget: float) -> bytearray:
        """Return the body, whose memory is to be released by `release`. Raises RequestError.

        `budget` is the seconds that the client waits for the answer. Half of them are left to a retry, as in load
        shedding: the network, or a stalled server, may have delayed a body that arrives at once the next time.
        """
        content, length = request.content, request.content_length
        if length is not None and length > self.limit:
            raise self._too_large()
        if "Expect" in request.headers and request.transport is not None:  # RFC 9110, 10.1.1
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            body = await self._arrival(content, min(self._seconds, budget / 2))
        except TimeoutError:
            what = "the review did not arrive" + (" in valid chunks" if length is None else "")
            if budget / 2 < self._seconds:
                raise OverloadedError("slow", f"{what} within {budget / 2:g} s, half of its timeout") from None
            message = f"{what} within {self._seconds:g} s"
            raise RequestError(HTTPStatus.REQUEST_TIMEOUT, message, closes=True) from None
        except (web.RequestPayloadError, ConnectionError) as error:
            # The reader keeps its error, the error keeps the frames, and a frame keeps the reader: a cycle.
            error.__traceback__ = None
            raise RequestError(HTTPStatus.BAD_REQUEST, "the review ends before its length", closes=True) from error
        if not body:
            raise RequestError(HTTPStatus.BAD_REQUEST, "the request has no body")
        return body

    def release(self, size: int) -> None:
        """Release the memory of a body of this size."""
        self.held -= _counted(size)

    async def _arrival(self, content: StreamReader, seconds: float) -> bytearray:
        body, part, chunks = bytearray(), b"", 0
        try:
            async with asyncio.timeout(seconds):
                while not content.at_eof():
                    part, ends_chunk = await content.readchunk()
                    chunks += ends_chunk
                    self._reserve(len(body), len(body) + len(part), chunks)
                    body += part
        except BaseException:
            self.release(len(body))
            raise
        return body

    def _reserve(self, before: int, after: int, chunks: int) -> None:
        if after > self.limit:
            raise self._too_large()
        if chunks > _CHUNKS + after // _CHUNK:
            remedy = "send larger chunks, or a Content-Length"
            message = f"a body has at most {_CHUNKS} chunks and one for each {_CHUNK} bytes; {remedy}"
            raise RequestError(HTTPStatus.BAD_REQUEST, message, closes=True)
        if after <= SMALL:
            return
        wanted = _counted(after) - _counted(before)
        allowed = self._memory if after > LARGE else self._memory + SMALL_BODIES
        if self.held + wanted > allowed:
            raise OverloadedError("memory", "large reviews are being read already")
        self.held += wanted

    def _too_large(self) -> RequestError:
        message = f"a review has at most {self.limit} bytes"
        return RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, closes=True)


def _counted(size: int) -> int:
    return size - SMALL if size > SMALL else 0
