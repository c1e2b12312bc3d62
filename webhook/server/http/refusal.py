"""The answer to what is not HTTP."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from aiohttp.abc import AbstractStreamWriter

from webhook.server.errors import BANNER, RequestError, answer

if TYPE_CHECKING:
    from multidict import CIMultiDict


class RefusalWriter(AbstractStreamWriter):
    """Sends a Status instead of the text with which aiohttp answers a request that it cannot parse.

    That text quotes the request, and its headers name the versions of aiohttp and Python.
    """

    def __init__(self, writer: AbstractStreamWriter) -> None:
        self._writer = writer
        refused = answer(RequestError(HTTPStatus.BAD_REQUEST, "the request is not valid HTTP/1.1"))
        self._body = cast(bytes, refused.body)

    async def write_headers(self, status_line: str, headers: CIMultiDict[str]) -> None:
        headers.update(BANNER)
        headers["Content-Type"] = "application/json"
        headers["Content-Length"] = str(len(self._body))
        await self._writer.write_headers(status_line, headers)

    async def write_eof(self, chunk: bytes = b"") -> None:  # noqa: ARG002 - aiohttp's text
        await self._writer.write_eof(self._body)

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """Drop a part of aiohttp's text."""

    async def drain(self) -> None:
        """Wait until the client has read enough."""
        await self._writer.drain()

    def enable_compression(self, encoding: str = "deflate", strategy: int | None = None) -> None:
        """Send the Status as it is."""

    def enable_chunking(self) -> None:
        """Send the Status as a whole."""
