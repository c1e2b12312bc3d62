"""One request and its answer: what a handler knows beside the request, and the writer of the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from webhook.server.errors import BANNER, RequestError, answer

if TYPE_CHECKING:
    from asyncio import WriteTransport

    from multidict import CIMultiDict


@dataclass(slots=True)
class Exchange:
    """A request that has begun.

    `arrived` is when the API server began to wait for its answer, on the monotonic clock; `is_authorized`, whether its
    client may call; `ends_connection`, whether the answer has to be the last one; `is_handled`, whether it reached a
    handler of this server.
    """

    arrived: float
    is_authorized: bool
    ends_connection: bool
    is_handled: bool = False


EXCHANGE = web.RequestKey("exchange", Exchange)
"""The key under which a request holds its exchange."""


class AnswerWriter(AbstractStreamWriter):
    """Forwards to aiohttp's writer, names the server, and reports that the answer is written.

    Where aiohttp itself answers, since a request is not HTTP, the writer sends a Status instead of aiohttp's text, for
    that quotes the request. Then `on_refused` is called with the status code.
    """

    def __init__(
        self,
        writer: AbstractStreamWriter,
        exchange: Exchange,
        on_written: Callable[[], None],
        on_refused: Callable[[HTTPStatus], None],
    ) -> None:
        self._writer = writer
        self._exchange = exchange
        self._on_written = on_written
        self._on_refused = on_refused
        self._body: bytes | None = None

    async def write_headers(self, status_line: str, headers: CIMultiDict[str]) -> None:
        """Write the headers."""
        headers.update(BANNER)
        if not self._exchange.is_handled:
            self._replace(HTTPStatus(int(status_line.split(" ", 2)[1])), headers)
        await self._writer.write_headers(status_line, headers)

    async def write_eof(self, chunk: bytes = b"") -> None:
        """Write the rest, and wait until the client has read enough of it."""
        await self._writer.write_eof(chunk if self._body is None else self._body)
        self._on_written()

    def _replace(self, status: HTTPStatus, headers: CIMultiDict[str]) -> None:
        refused = answer(RequestError(status, "the request is not valid HTTP/1.1"))
        self._body = cast(bytes, refused.body)
        headers["Content-Type"] = "application/json"
        headers["Content-Length"] = str(len(self._body))
        self._on_refused(status)

    @property
    def length(self) -> int | None:
        """The bytes of the body that are still to be written; None where that is not known."""
        return self._writer.length

    @length.setter
    def length(self, length: int | None) -> None:
        self._writer.length = length

    @property
    def buffer_size(self) -> int:  # type: ignore[override]  # an attribute there
        """The bytes that were written since the last drain."""
        return self._writer.buffer_size

    @property
    def output_size(self) -> int:  # type: ignore[override]  # an attribute there
        """The bytes that were written."""
        return self._writer.output_size

    @property
    def transport(self) -> WriteTransport | None:
        """The transport of the connection."""
        return self._writer.transport

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """Forward."""
        await self._writer.write(chunk)

    async def drain(self) -> None:
        """Forward."""
        await self._writer.drain()

    def enable_compression(self, encoding: str = "deflate", strategy: int | None = None) -> None:
        """Forward."""
        self._writer.enable_compression(encoding, strategy)

    def enable_chunking(self) -> None:
        """Forward."""
        self._writer.enable_chunking()

    def send_headers(self) -> None:
        """Forward."""
        self._writer.send_headers()
