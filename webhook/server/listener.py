"""A listener: aiohttp's HTTP server, whose own errors are answered and counted as ours are."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from aiohttp import web

from webhook.server.metrics import Metrics
from webhook.server.refusal import BANNER, RefusalError, answer


class _Protocol(web.RequestHandler):
    """One connection. What is no HTTP at all never reaches the handler, so it is answered here."""

    __slots__ = ("refused",)
    refused: Callable[[int], None]

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = HTTPStatus.INTERNAL_SERVER_ERROR,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - the parser's words, with bytes of the client's
    ) -> web.StreamResponse:
        """The answer to a request that cannot be read; the connection ends with it."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun") from exc
        self.refused(status)
        response = answer(RefusalError(HTTPStatus(status), "the request is not HTTP/1.1 as it should be"))
        response.headers.update(BANNER)
        response.force_close()
        return response


class Listener(web.Server):
    """A listener for one handler. `metrics` counts the requests that are refused before it."""

    def __init__(self, handler: Any, metrics: Metrics, **options: Any) -> None:
        quiet = logging.getLogger("webhook.http")
        super().__init__(handler, auto_decompress=False, access_log=None, logger=quiet, **options)
        self._metrics = metrics

    def __call__(self) -> web.RequestHandler:
        """A new connection."""
        protocol = _Protocol(self, loop=self._loop, **self._kwargs)
        protocol.refused = self._metrics.refuse
        return protocol
