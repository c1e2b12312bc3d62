"""A running webhook, called as the API server calls it when an object is created."""

from __future__ import annotations

import json
import ssl
import uuid
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from webhook.admission import Hook
from webhook.patch import apply, verify
from webhook.policy.printable import printable
from webhook.policy.verdict import Severity
from webhook.remote.address import Address
from webhook.remote.answer import Answer, read
from webhook.remote.connection import Connection, Limits, Reply
from webhook.remote.errors import ServerError, UnansweredError
from webhook.remote.failures import CLIENT_REMEDY
from webhook.remote.review import NewObject, review

_LIMITS = Limits()


class Webhook:
    """The hooks of one server."""

    def __init__(self, address: Address, context: ssl.SSLContext, limits: Limits = _LIMITS) -> None:
        self._connection = Connection(address, context, limits)
        self._address = address

    def __str__(self) -> str:
        return str(self._address)

    def create(self, created: NewObject, mutating: Hook | None) -> list[Answer]:
        """Return the answers to the creation of an object, in the order of the hooks.

        A Pod is sent to a mutating hook first, then with its patch to the validating hook, unless it is denied.
        `mutating` is None for other objects. Raises UnansweredError, and ServerError if no other object would get an
        answer either.
        """
        answers = []
        if mutating is not None:
            mutated = self._asked(mutating, created)
            if not mutated.allowed:
                return [mutated]
            answers.append(mutated)
            created = _edited(created, mutated)
        validated = self._asked(Hook.VALIDATE, created)
        if validated.allowed and any(finding.severity is Severity.DENY for finding in validated.findings):
            raise UnansweredError("the object is allowed in spite of a finding that denies it")
        return [*answers, validated]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _asked(self, hook: Hook, created: NewObject) -> Answer:
        uid = str(uuid.uuid4())
        try:
            body = review(created, uid)
        except (ValueError, RecursionError):
            raise UnansweredError("it cannot be written as JSON, so it is not sent") from None
        reply = self._connection.post(hook.path, body)
        _verify(reply, self._address)
        return read(reply.body, uid)


def _edited(created: NewObject, answer: Answer) -> NewObject:
    """The object with the patch of the mutating hook. Raises UnansweredError for a patch that does not apply."""
    if not answer.operations:
        return created
    value = json.loads(json.dumps(created.value))  # a copy in which aliases share nothing
    failure = verify(value, answer.operations)
    if failure is not None:
        raise UnansweredError(f"the patch of the mutating hook does not apply: {printable(failure)}")
    apply(value, answer.operations)
    return created.changed_to(value)


_OF_REVIEW = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.INTERNAL_SERVER_ERROR,
)
"""The statuses that concern one review, not the server as a whole."""

_REMEDIES: Mapping[int, str] = {
    HTTPStatus.NOT_FOUND: "name the review port of gpushare-webhook",
    HTTPStatus.UNAUTHORIZED: CLIENT_REMEDY,
    HTTPStatus.FORBIDDEN: CLIENT_REMEDY,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "split the object, or raise server.bodyLimit",
    HTTPStatus.INTERNAL_SERVER_ERROR: "check the log of the webhook",
    HTTPStatus.SERVICE_UNAVAILABLE: "retry later",
    HTTPStatus.TOO_MANY_REQUESTS: "retry later",
}
_REMEDY = "check that the address is that of gpushare-webhook"


def _verify(reply: Reply, address: Address) -> None:
    """Check that a reply holds an answer. Raises UnansweredError and ServerError."""
    if reply.status == HTTPStatus.OK:
        return
    message = _message(reply.body)
    said = f"{reply.status}: {message}" if message else str(reply.status)
    if reply.status in _OF_REVIEW:
        remedy = _REMEDIES.get(reply.status)
        raise UnansweredError(f"the server answers {said}" + (f"; {remedy}" if remedy else ""))
    raise ServerError(f"{address} answers {said}; {_REMEDIES.get(reply.status, _REMEDY)}")


class _Status(msgspec.Struct):
    """An error as the server writes it."""

    message: str


def _message(body: bytes) -> str:
    """The message of an error; empty if the body is not a Status, such as the page of a proxy."""
    try:
        return printable(msgspec.json.decode(body, type=_Status).message, _MESSAGE)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


_MESSAGE = 400
"""Characters of an error that are shown; a webhook's own messages fit."""
