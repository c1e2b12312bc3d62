"""The handler of reviews: a request in, an answer out, by its path. It reads no file and calls no network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from time import monotonic
from urllib.parse import parse_qs

from aiohttp import hdrs, web

import webhook.manifests.jsontext
import webhook.policy.launchers.programs
import webhook.policy.placement.nearest  # noqa: F401
from webhook.admission import BadReviewError, Hook, Outcome, TooComplexError, respond
from webhook.policy.memo import memo
from webhook.policy.verdict import Decision
from webhook.server.errors import OverloadedError, RequestError, answer
from webhook.server.http.bodies import Bodies
from webhook.server.http.load import LARGE, LargeReviews, LoadShedder
from webhook.server.http.protocol import EXCHANGE, Exchange
from webhook.server.lifecycle import Lifecycle, Phase
from webhook.server.limits import Bounds
from webhook.server.live_config import LiveConfig
from webhook.server.observe.log import EventLog, ReviewLine
from webhook.server.observe.metrics import Metrics
from webhook.settings.configuration import ServerSettings as Limits

_JSON = "application/json"
_CONTINUE = "100-continue"


class Reviews:
    """Answers each review with one snapshot of settings and facts."""

    def __init__(
        self, live: LiveConfig, limits: Limits, bounds: Bounds, lifecycle: Lifecycle, log: EventLog, metrics: Metrics
    ) -> None:
        self._live = live
        self._lifecycle = lifecycle
        self._shedder = LoadShedder(limits.max_in_flight, lifecycle)
        self._large: LargeReviews[bytes] = LargeReviews()
        self._bodies = Bodies(bounds, limits.body_timeout)
        self._log = log
        self._metrics = metrics
        metrics.in_flight.set_function(lambda: self._shedder.in_flight + self._large.in_flight)
        metrics.large_reviews.set_function(lambda: self._large.in_flight)
        metrics.large_bodies.set_function(lambda: self._bodies.held)

    def refuse_large(self) -> None:
        """Refuse the large reviews that wait, the one that is processed, and all that follow."""
        self._large.close()

    async def handle(self, request: web.BaseRequest) -> web.Response:
        try:
            response = await self._review(request)
        except RequestError as refused:
            self._metrics.refuse(refused.status)
            if isinstance(refused, OverloadedError):
                self._metrics.shed.labels(refused.reason).inc()
            self._log.event("debug", "refused", status=int(refused.status), message=str(refused))
            response = answer(refused)
        if self._lifecycle.phase >= Phase.DRAINING:
            response.force_close()
        return response

    async def _review(self, request: web.BaseRequest) -> web.Response:
        exchange = request[EXCHANGE]
        arrived, route = exchange.arrived, _route(request, exchange)
        body: bytes | bytearray = exchange.body
        if not 0 < len(body) <= self._bodies.limit:
            body = await self._bodies.read(request, route.budget)
        size = len(body)
        try:
            if size > LARGE:
                job = partial(self._answer, body, route.hook, arrived)
                del body  # so that only the job holds it
                answered = await self._large.run(job, arrived + route.budget / 2, lambda: request.transport is not None)
            else:
                await self._shedder.enter(arrived, route.budget)
                try:
                    answered = self._answer(body, route.hook, arrived)
                finally:
                    self._shedder.leave()
        finally:
            self._bodies.release(size)
        return web.Response(body=answered, content_type=_JSON)

    def _answer(self, body: bytes | bytearray, hook: Hook, arrived: float) -> bytes:
        """The answer to a review, on the event loop or on the thread of large reviews. Raises RequestError."""
        started = monotonic()
        try:
            outcome = respond(body, hook, self._live.evaluator)
        except TooComplexError as error:
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)) from None
        except BadReviewError as error:
            raise RequestError(HTTPStatus.BAD_REQUEST, str(error)) from None
        answered, uid = outcome.body(), outcome.request.uid
        ended = monotonic()
        self._metrics.observe(hook, outcome, ended - arrived)
        self._log.review(review_line(hook, outcome, ended - started))
        if self._log.is_logged("debug"):
            for name, reason in outcome.verdict.withheld:
                self._log.event("debug", "not injected", uid=uid, injection=name, reason=reason)
        if outcome.proof_failure is not None:
            self._log.event("error", "patch not sent", uid=uid, reason=outcome.proof_failure)
        if outcome.unpatched is not None:
            self._log.event("warning", "patch not built", uid=uid, reason=outcome.unpatched)
        return answered


_DENIED = Decision.DENIED


def review_line(hook: Hook, outcome: Outcome, seconds: float) -> ReviewLine:
    """The log line of a review that took this processor time.

    The fields that most reviews leave empty are set later: a call with more than 15 keywords builds a dict first.
    """
    request, verdict = outcome.request, outcome.verdict
    counts = verdict.counts
    line = ReviewLine(
        hook=hook.label,
        uid=request.uid,
        namespace=request.namespace,
        name=outcome.name,
        kind=request.kind.kind,
        operation=request.operation,
        user=request.userInfo.username,
        decision=verdict.decision.label,
        allowed=outcome.allowed,
        codes=sorted({code for code, _ in counts}) if counts else [],
        findings=sum(counts.values()) if counts else 0,
        edits=len(outcome.operations),
        microseconds=int(seconds * 1e6),
    )
    if request.dryRun:
        line.dryRun = True
    if verdict.decision is _DENIED:
        line.message = outcome.denial()
    line.injections = outcome.injected
    line.reported = outcome.reported
    return line


def _route(request: web.BaseRequest, exchange: Exchange) -> Route:
    """The route of a request whose header is that of a review. Raises RequestError."""
    route = target(request.raw_path)
    if request.method != "POST":
        raise RequestError(HTTPStatus.METHOD_NOT_ALLOWED, "reviews are sent by POST", Allow="POST")
    if not exchange.connection.is_authorized:
        raise RequestError(
            HTTPStatus.FORBIDDEN, "the common name of the client certificate is not in tls.clientSubjects", closes=True
        )
    headers = request.headers
    if headers.get(hdrs.CONTENT_TYPE) != _JSON and request.content_type != _JSON:
        raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the content type of a review is {_JSON}")
    if headers.get(hdrs.CONTENT_ENCODING, "identity") != "identity":
        raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "reviews are not compressed")
    if hdrs.EXPECT in headers and headers[hdrs.EXPECT].lower() != _CONTINUE:
        message = f"the only expectation that this server meets is {_CONTINUE}"
        raise RequestError(HTTPStatus.EXPECTATION_FAILED, message, closes=True)
    return route


_HOOKS = {hook.path: hook for hook in Hook}
_USUAL = 10.0
"""Seconds: the default of a webhook's `timeoutSeconds`."""

_MOST = 30.0
"""Seconds: the maximum of `timeoutSeconds`."""

# In Go's format.
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:h|ms|us|µs|ns|m|s))+", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


@dataclass(frozen=True, slots=True)
class Route:
    """A hook, and the seconds for which the API server waits for its response."""

    hook: Hook
    budget: float


@memo(64)
def target(raw: str) -> Route:
    """The route of a request target, which is a path with a query. Raises RequestError.

    Cached because the API server sends the same few targets.
    """
    path, _, query = raw.partition("?")
    hook = _HOOKS.get(path)  # compared as it is: percent-encoding or a second slash makes another path
    if hook is None:
        raise RequestError(HTTPStatus.NOT_FOUND, f"no such path; send reviews to {', '.join(_HOOKS)}")
    given = parse_qs(query, keep_blank_values=True).get("timeout")
    if given is None:
        return Route(hook, _USUAL)
    text, seconds = given[-1], 0.0
    if len(text) <= 40 and _DURATION.fullmatch(text):
        seconds = sum(float(count) * _SECONDS[unit] for count, unit in re.findall(r"([0-9.]+)([a-zµ]+)", text))
    if not seconds:
        raise RequestError(HTTPStatus.BAD_REQUEST, "the timeout in the query is not a positive duration, such as 5s")
    return Route(hook, min(seconds, _MOST))
