"""Answers to requests that are no reviews: a Kubernetes Status, whose message the API server shows."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from aiohttp import web

BANNER = {"Server": "gpushare-webhook"}
"""What every answer says of the server: its name, and no version."""


_REASONS = {
    HTTPStatus.BAD_REQUEST: "BadRequest",
    HTTPStatus.NOT_FOUND: "NotFound",
    HTTPStatus.METHOD_NOT_ALLOWED: "MethodNotAllowed",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "RequestEntityTooLarge",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "UnsupportedMediaType",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalError",
}
"""The reasons of metav1.StatusReason."""


class RefusalError(Exception):
    """A request that is answered with an error of HTTP."""

    def __init__(self, status: HTTPStatus, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


def answer(refusal: RefusalError) -> web.Response:
    """The response to a refused request."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": str(refusal),
        "reason": _REASONS.get(refusal.status, "Unknown"),
        "code": int(refusal.status),
    }
    return web.Response(
        status=refusal.status,
        body=msgspec.json.encode(status) + b"\n",
        content_type="application/json",
        headers=refusal.headers,
    )
