"""HTTP errors as responses: a Kubernetes Status, whose message the API server shows."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from aiohttp import web

REASONS = {
    HTTPStatus.BAD_REQUEST: "BadRequest",
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.NOT_FOUND: "NotFound",
    HTTPStatus.METHOD_NOT_ALLOWED: "MethodNotAllowed",
    HTTPStatus.REQUEST_TIMEOUT: "Timeout",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "RequestEntityTooLarge",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "UnsupportedMediaType",
    HTTPStatus.EXPECTATION_FAILED: "Unknown",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalError",
    HTTPStatus.SERVICE_UNAVAILABLE: "ServiceUnavailable",
}
"""The statuses of all errors, and their values of metav1.StatusReason."""


class RequestError(Exception):
    """A request that gets an HTTP error. With `closes`, the connection is closed after the response."""

    def __init__(self, status: HTTPStatus, message: str, *, closes: bool = False, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.closes = closes
        self.headers = headers


class OverloadedError(RequestError):
    """A review that the server does not accept. The API server retries it after a second, on a new connection.

    It retries every 429 or 5xx response with an integer Retry-After until the webhook's timeout is over
    (kubernetes/client-go rest/with_retry.go), and the new connection may reach another replica.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(HTTPStatus.SERVICE_UNAVAILABLE, message, closes=True, **{"Retry-After": "1"})
        self.reason = reason


def answer(refusal: RequestError) -> web.Response:
    """The response to a request that failed with this error."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": str(refusal),
        "reason": REASONS[refusal.status],
        "code": int(refusal.status),
    }
    response = web.Response(
        status=refusal.status,
        body=msgspec.json.encode(status) + b"\n",
        content_type="application/json",
        headers=refusal.headers,
    )
    if refusal.closes:
        response.force_close()
    return response
