"""The review listener's handler: a request in, an answer out. It reads no file and calls no network."""

from __future__ import annotations

import asyncio
import traceback
from http import HTTPStatus
from pathlib import PurePath
from time import perf_counter

from aiohttp import web

from webhook.admission import BadReviewError, Hook, Outcome, respond
from webhook.policy.kinds import Table, table
from webhook.policy.rules import Ruleset
from webhook.server.journal import Journal
from webhook.server.metrics import Metrics
from webhook.server.refusal import BANNER, RefusalError, answer

_HOOKS = {hook.path: hook for hook in Hook}


class Reviews:
    """Answers reviews with one snapshot of settings and facts. `idle` is set while no request is open."""

    def __init__(self, ruleset: Ruleset, journal: Journal, metrics: Metrics) -> None:
        self._snapshot: tuple[Ruleset, Table] = (ruleset, table(ruleset.settings.workloads.paths))
        self._journal = journal
        self._metrics = metrics
        self._open = 0
        self.idle = asyncio.Event()
        self.idle.set()

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """Answer one request. Nothing that goes wrong here reaches the client as more than a line."""
        self._opened()
        try:
            response = await self._review(request)
        except RefusalError as refusal:
            self._metrics.refuse(refusal.status)
            self._journal.say("debug", "refused", status=int(refusal.status), message=str(refusal))
            response = answer(refusal)
        except Exception as error:
            self._metrics.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
            self._journal.say("error", "internal error", error=_told(error))
            response = answer(RefusalError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error; the journal tells more"))
        finally:
            self._closed()
        response.headers.update(BANNER)
        return response

    def _opened(self) -> None:
        self._open += 1
        self.idle.clear()
        self._metrics.in_flight.set(self._open)

    def _closed(self) -> None:
        self._open -= 1
        self._metrics.in_flight.set(self._open)
        if not self._open:
            self.idle.set()

    async def _review(self, request: web.BaseRequest) -> web.Response:
        hook = _hook(request)
        body = await _body(request)
        started = perf_counter()
        ruleset, kinds = self._snapshot
        try:
            outcome = respond(body, hook, ruleset, kinds)
        except BadReviewError as error:
            raise RefusalError(HTTPStatus.BAD_REQUEST, str(error)) from None
        response = web.Response(body=outcome.body(), content_type="application/json")
        seconds = perf_counter() - started
        self._metrics.observe(hook, outcome, seconds)
        self._record(hook, outcome, seconds)
        return response

    def _record(self, hook: Hook, outcome: Outcome, seconds: float) -> None:
        request = outcome.request
        self._journal.say(
            "info",
            "review",
            hook=hook.label,
            uid=request.uid,
            namespace=request.namespace,
            name=outcome.name,
            kind=request.kind.kind,
            operation=request.operation,
            decision=outcome.verdict.decision.label,
            allowed=outcome.allowed,
            codes=[finding.code for finding in outcome.verdict.findings],
            edits=len(outcome.operations),
            microseconds=round(seconds * 1e6),
        )
        if outcome.flaw is not None:
            self._journal.say("error", "patch not sent", uid=request.uid, reason=outcome.flaw)


def _hook(request: web.BaseRequest) -> Hook:
    hook = _HOOKS.get(request.path)
    if hook is None:
        raise RefusalError(HTTPStatus.NOT_FOUND, f"nothing is here; reviews go to {', '.join(_HOOKS)}")
    if request.method != "POST":
        raise RefusalError(HTTPStatus.METHOD_NOT_ALLOWED, "reviews are sent by POST", Allow="POST")
    if request.content_type != "application/json":
        raise RefusalError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the content type of a review is application/json")
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise RefusalError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "reviews are not compressed")
    return hook


async def _body(request: web.BaseRequest) -> bytes:
    try:
        if (request.content_length or 0) > request._client_max_size:
            raise _too_large(request)
        body = await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise _too_large(request) from None
    except (web.RequestPayloadError, ConnectionError) as error:
        raise RefusalError(HTTPStatus.BAD_REQUEST, "the review ends before its length") from error
    if not body:
        raise RefusalError(HTTPStatus.BAD_REQUEST, "the request has no body")
    return body


def _too_large(request: web.BaseRequest) -> RefusalError:
    message = f"a review has at most {request._client_max_size} bytes"
    return RefusalError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, Connection="close")


def _told(error: Exception) -> str:
    """What a defect is, and where, on one line and without values."""
    places = [f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    return f"{type(error).__name__} at {' < '.join(reversed(places[-4:]))}"
