"""The review listener's handler: a request in, an answer out. It reads no file and calls no network."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from time import monotonic, perf_counter

from aiohttp import web

from webhook.admission import BadReviewError, Hook, Outcome, TooComplexError, respond
from webhook.server.capacity import Bounds
from webhook.server.errors import BANNER, OverloadedError, RequestError, answer
from webhook.server.http.bodies import Bodies
from webhook.server.http.connection import Connection
from webhook.server.http.large_reviews import LARGE, LargeReviews
from webhook.server.http.load_shedder import LoadShedder
from webhook.server.live_config import LiveConfig
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics
from webhook.server.routes import Route, target
from webhook.settings.process import Server as Limits

_CONTINUE = "100-continue"


class Reviews:
    """Answers reviews with one snapshot of settings and facts. `stopping` has each answer end its connection."""

    def __init__(self, in_force: LiveConfig, limits: Limits, bounds: Bounds, log: EventLog, metrics: Metrics) -> None:
        self._in_force = in_force
        self.stopping = False
        self.intake = LoadShedder(limits.max_in_flight)
        self._large: LargeReviews[bytes] = LargeReviews()
        self._bodies = Bodies(bounds, limits.body_timeout)
        self._log = log
        self._metrics = metrics
        metrics.in_flight.set_function(lambda: self.intake.in_flight + self._large.in_flight)
        metrics.large.set_function(lambda: self._large.in_flight)
        metrics.held.set_function(lambda: self._bodies.held)

    def close(self) -> None:
        """Shed every review that is not answered yet, and all that come."""
        self.intake.closing = True
        self._large.close()

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """Answer one request. A defect is left to the connection, which answers it for every listener."""
        try:
            response = await self._review(request)
        except RequestError as refusal:
            self._count(refusal)
            response = answer(refusal)
        if self.stopping:
            response.force_close()
        response.headers.update(BANNER)
        return response

    async def _review(self, request: web.BaseRequest) -> web.Response:
        connection: Connection = request.protocol  # type: ignore[assignment]  # what our listener makes
        arrived = connection.arrived
        wanted = _wanted(request, connection)
        body = await self._bodies.read(request, wanted.budget)
        size = len(body)
        try:
            if size > LARGE:
                job = partial(self._answer, body, wanted.hook, arrived)
                del body  # the job is the only one to hold it
                answered = await self._large.run(
                    job, arrived + wanted.budget / 2, lambda: request.transport is not None
                )
            else:
                await self.intake.enter(arrived, wanted.budget)
                try:
                    answered = self._answer(body, wanted.hook, arrived)
                finally:
                    self.intake.leave()
        finally:
            self._bodies.give_back(size)
        return web.Response(body=answered, content_type="application/json")

    def _answer(self, body: bytes | bytearray, hook: Hook, arrived: float) -> bytes:
        """The answer to a review, on the event loop or on the thread of large ones. Raises RefusalError."""
        started = perf_counter()
        try:
            outcome = respond(body, hook, self._in_force.evaluator)
        except TooComplexError as error:
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)) from None
        except BadReviewError as error:
            raise RequestError(HTTPStatus.BAD_REQUEST, str(error)) from None
        answered = outcome.body()
        self._metrics.observe(hook, outcome, monotonic() - arrived)
        self._record(hook, outcome, perf_counter() - started)
        return answered

    def _count(self, refusal: RequestError) -> None:
        self._metrics.refuse(refusal.status)
        if isinstance(refusal, OverloadedError):
            self._metrics.shed.labels(refusal.reason).inc()
        self._log.event("debug", "refused", status=int(refusal.status), message=str(refusal))

    def _record(self, hook: Hook, outcome: Outcome, seconds: float) -> None:
        request, counts = outcome.request, outcome.verdict.counts
        self._log.event(
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
            codes=sorted({code for code, _ in counts}),
            findings=sum(counts.values()),
            edits=len(outcome.operations),
            microseconds=round(seconds * 1e6),
        )
        if outcome.proof_failure is not None:
            self._log.event("error", "patch not sent", uid=request.uid, reason=outcome.proof_failure)
        if outcome.unpatched is not None:
            self._log.event("warning", "patch not built", uid=request.uid, reason=outcome.unpatched)


def _wanted(request: web.BaseRequest, connection: Connection) -> Route:
    """Where a request goes that is a review by its head. Raises RefusalError."""
    wanted = target(request.raw_path)
    if request.method != "POST":
        raise RequestError(HTTPStatus.METHOD_NOT_ALLOWED, "reviews are sent by POST", Allow="POST")
    if not connection.known:
        raise RequestError(HTTPStatus.FORBIDDEN, "the client certificate names nobody who may call", closes=True)
    if request.content_type != "application/json":
        raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the content type of a review is application/json")
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "reviews are not compressed")
    if request.headers.get("Expect", _CONTINUE).lower() != _CONTINUE:
        message = f"nothing but {_CONTINUE} can be expected here"
        raise RequestError(HTTPStatus.EXPECTATION_FAILED, message, closes=True)
    return wanted
