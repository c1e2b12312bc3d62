"""The handler of reviews: a request in, an answer out, by its path. It reads no file and calls no network."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from time import monotonic
from urllib.parse import parse_qs

from aiohttp import StreamReader, hdrs, web

import webhook.manifests.jsontext
import webhook.policy.launchers.programs
import webhook.policy.placement.nearest  # noqa: F401
from webhook.admission import BadReviewError, Hook, Outcome, TooComplexError, respond
from webhook.policy.memo import memo
from webhook.policy.verdict import Decision
from webhook.server.errors import OverloadedError, RequestError, answer
from webhook.server.http.load import LARGE, LargeReviews, LoadShedder
from webhook.server.http.server import CONNECTION, SMALL, GuardedConnection
from webhook.server.lifecycle import Lifecycle, Phase
from webhook.server.limits import SMALL_BODIES, Bounds
from webhook.server.live_config import LiveConfig
from webhook.server.log import EventLog, ReviewLine
from webhook.server.metrics import Metrics
from webhook.settings.configuration import ServerSettings

_JSON = "application/json"
_CONTINUE = "100-continue"


class Reviews:
    """Answers each review with one snapshot of settings and facts."""

    def __init__(
        self,
        live: LiveConfig,
        settings: ServerSettings,
        bounds: Bounds,
        lifecycle: Lifecycle,
        log: EventLog,
        metrics: Metrics,
    ) -> None:
        self._live = live
        self._lifecycle = lifecycle
        self._shedder = LoadShedder(settings.max_in_flight, lifecycle)
        self.large = LargeReviews()
        self._bodies = Bodies(bounds, settings.body_timeout)
        self._log = log
        self._metrics = metrics
        metrics.in_flight.set_function(lambda: self._shedder.in_flight + self.large.in_flight)
        metrics.large_reviews.set_function(lambda: self.large.in_flight)
        metrics.large_bodies.set_function(lambda: self._bodies.held)

    async def handle(self, request: web.BaseRequest) -> web.Response:
        try:
            response = await self._review(request)
        except RequestError as refused:
            self._metrics.refused.labels(refused.status).inc()
            if isinstance(refused, OverloadedError):
                self._metrics.shed.labels(refused.reason).inc()
            self._log.event("debug", "refused", status=int(refused.status), message=str(refused))
            response = answer(refused)
        if self._lifecycle.phase >= Phase.DRAINING:
            response.force_close()
        return response

    async def _review(self, request: web.BaseRequest) -> web.Response:
        connection = request[CONNECTION]
        hook, budget = _route(request, connection)
        arrived = connection.arrived
        body: bytes | bytearray = connection.body
        if not 0 < len(body) <= self._bodies.limit:
            body = await self._bodies.read(request, budget)
        size = len(body)
        try:
            if size > LARGE:
                job = partial(self._answer, body, hook, arrived)
                del body  # so that only the job holds it
                answered = await self.large.run(job, arrived + budget / 2, lambda: request.transport is not None)
            else:
                await self._shedder.enter(arrived, budget)
                try:
                    answered = self._answer(body, hook, arrived)
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
        self._metrics.observe(hook.label, outcome, ended - arrived)
        self._log.review(review_line(hook, outcome, ended - started))
        if (withheld := outcome.verdict.withheld) and self._log.is_logged("debug"):
            for name, reason in withheld:
                self._log.event("debug", "not injected", uid=uid, injection=name, reason=reason)
        if outcome.proof_failure is not None:
            self._metrics.proof_failures.inc()
            self._log.event("error", "patch not sent", uid=uid, reason=outcome.proof_failure)
        if outcome.unpatched is not None:
            self._log.event("warning", "patch not built", uid=uid, reason=outcome.unpatched)
        return answered


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


def review_line(hook: Hook, outcome: Outcome, seconds: float) -> ReviewLine:
    """The log line of a review that took this processor time.

    Fields that most reviews leave empty are set later: a call with more than 15 keywords builds a dict first.
    """
    request, verdict = outcome.request, outcome.verdict
    line = ReviewLine(
        time=datetime.now(UTC),
        hook=hook.label,
        uid=request.uid,
        namespace=request.namespace,
        name=outcome.name,
        kind=request.kind.kind,
        operation=request.operation,
        user=request.userInfo.username,
        decision=verdict.decision.label,
        allowed=outcome.allowed,
        injections=outcome.injected,
        reported=outcome.reported,
        edits=len(outcome.operations),
        microseconds=int(seconds * 1e6),
    )
    if request.dryRun:
        line.dryRun = True
    if counts := verdict.counts:
        line.codes, line.findings = sorted({code for code, _ in counts}), sum(counts.values())
    if verdict.decision is _DENIED:
        line.message = outcome.denial()
    return line


_DENIED = Decision.DENIED


def _route(request: web.BaseRequest, connection: GuardedConnection) -> tuple[Hook, float]:
    """The target of a request whose header is that of a review. Raises RequestError."""
    route = target(request.raw_path)
    if request.method != "POST":
        raise RequestError(HTTPStatus.METHOD_NOT_ALLOWED, "reviews are sent by POST", Allow="POST")
    if not connection.is_authorized:
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


@memo(64)
def target(raw: str) -> tuple[Hook, float]:
    """The hook of a request target, a path with a query, and how long the API server waits. Raises RequestError.

    Cached because the API server sends the same few targets.
    """
    path, _, query = raw.partition("?")
    hook = _HOOKS.get(path)  # compared as it is: percent-encoding or a second slash makes another path
    if hook is None:
        raise RequestError(HTTPStatus.NOT_FOUND, f"no such path; send reviews to {', '.join(_HOOKS)}")
    given = parse_qs(query, keep_blank_values=True).get("timeout")
    if given is None:
        return hook, _USUAL
    text, seconds = given[-1], 0.0
    if len(text) <= 40 and _DURATION.fullmatch(text):
        seconds = sum(float(count) * _SECONDS[unit] for count, unit in re.findall(r"([0-9.]+)([a-zµ]+)", text))
    if not seconds:
        raise RequestError(HTTPStatus.BAD_REQUEST, "the timeout in the query is not a positive duration, such as 5s")
    return hook, min(seconds, _MOST)
