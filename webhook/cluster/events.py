"""Kubernetes Events about pods that the webhook denies or steers, on the controllers that create them.

The request path offers a small record, and a task writes the Events. They have the form of core/v1 with a source and
times, because `kubectl describe` reads them through core/v1 and shows these as From and Age
(kubernetes/kubectl pkg/describe/describe.go DescribeEvents).
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from threading import Lock
from time import monotonic
from typing import Final, NamedTuple

import msgspec

from webhook.admission import Outcome
from webhook.cluster.api_server import ApiServer, Object, Rule
from webhook.policy.messages import cut
from webhook.policy.rules import NAMESPACE_NAME
from webhook.policy.verdict import Severity
from webhook.policy.workloads.kinds import is_pod
from webhook.runtime.failure_log import FailureLog, LogEvent
from webhook.runtime.retry import RateLimiter, delay

DENIED: Final = "GpuPodDenied"
STEERED: Final = "GpuPodSteered"
RULE: Final = Rule("", "events", ("create",))

_STEERING: Final = "steering"
_COMPONENT: Final = "gpushare-webhook"
_MESSAGE: Final = 1024
"""Characters of a message: events.k8s.io allows no more (kubernetes pkg/apis/core/validation NoteLengthLimit)."""

_REFERENCES: Final = 32
"""Owner references of a pod that are looked at."""

_REFERENCES_BYTES: Final = 32 * 1024
"""Bytes of the owner references that are decoded. One has less than 700."""

_AGAIN: Final = 600.0
"""Seconds until the same controller gets another Event about the same codes."""

REMEMBERED: Final = 1024
"""Controllers and codes that are remembered: more Events than a replica writes in that time."""

WAITING: Final = 128
"""Records that wait to be written; the server drops further ones."""

BURST: Final = 20
_REFILL: Final = 1.0
"""Seconds until one more Event may be written."""

_INTERVAL: Final = 0.5
"""Seconds between two looks at what waits: threads offer records, so that no event of the loop announces them."""

_LONGEST = {"apiVersion": 317, "kind": 63, "name": 253, "uid": 64}
"""Characters of the longest legal values of an owner reference."""


class Controller(msgspec.Struct, frozen=True):
    """The owner reference of a pod to the controller that creates it."""

    apiVersion: str  # noqa: N815 - the API's own name
    kind: str
    name: str
    uid: str
    controller: bool | None = None


_OWNERS = msgspec.json.Decoder(list[Controller] | None)


def controller_of(outcome: Outcome) -> Controller | None:
    """The controller of the object of a request; None without one, and for a reference that cannot be one."""
    metadata = (outcome.request.object or {}).get("metadata") or {}
    sent = metadata.get("ownerReferences")
    if sent is None or len(memoryview(sent)) > _REFERENCES_BYTES:
        return None
    try:
        owners = _OWNERS.decode(sent) or []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # the API server has validated the references of an object that it asks about
    found: Controller | None = next((owner for owner in owners[:_REFERENCES] if owner.controller), None)
    if found is None or not all(0 < len(getattr(found, name)) <= most for name, most in _LONGEST.items()):
        return None
    return found


class _Record(NamedTuple):
    """One Event to write. Its texts are bounded."""

    namespace: str
    controller: Controller
    type: str
    reason: str
    message: str
    seen: datetime


class PodEvents:
    """Writes Events. Run `run` in a task. `count` counts one Event as written, failed or dropped.

    A controller gets one Event for the same codes in ten minutes; all together get 20 at once, and one per second.
    """

    def __init__(
        self,
        api: ApiServer,
        log: LogEvent,
        count: Callable[[str], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._api = api
        self._count = count
        self._clock = clock
        self._failures = FailureLog(log, "Events are not written", "Events are written again")
        self._instance = socket.gethostname()[:128]
        self._offering = Lock()
        self._recent: dict[tuple[str, ...], float] = {}
        self._waiting: deque[_Record] = deque()

    @property
    def held(self) -> tuple[int, int]:
        """How many controllers and codes are remembered, and how many records wait."""
        return len(self._recent), len(self._waiting)

    def offer(self, outcome: Outcome) -> None:
        """Take note of an outcome. Any thread may call this; it never waits for the cluster."""
        request = outcome.request
        steered = outcome.allowed and _STEERING in outcome.injected
        if (outcome.allowed and not steered) or request.dryRun or not is_pod(request.kind.group, request.kind.kind):
            return
        controller = controller_of(outcome)
        if controller is None or not NAMESPACE_NAME.fullmatch(request.namespace):
            return
        codes = () if steered else _denying(outcome)
        with self._offering:
            if not self._is_new((controller.uid, *codes)):
                return
            self._waiting.append(_record(outcome, controller))

    def _is_new(self, key: tuple[str, ...]) -> bool:
        """Whether an Event is due, of which this takes note. One that finds no room is counted as dropped."""
        now, last = self._clock(), self._recent.get(key)
        if last is not None and now - last < _AGAIN:
            return False
        if len(self._waiting) >= WAITING:
            self._count("dropped")
            return False
        self._recent.pop(key, None)
        if len(self._recent) >= REMEMBERED:
            del self._recent[next(iter(self._recent))]  # the oldest
        self._recent[key] = now
        return True

    async def run(self) -> None:
        limiter = RateLimiter(BURST, _REFILL)
        while True:
            while self._waiting:
                await delay(limiter.wait())
                limiter.spend()
                await self._write(self._waiting.popleft())
            await delay(_INTERVAL)

    async def _write(self, record: _Record) -> None:
        try:
            path = f"/api/v1/namespaces/{record.namespace}/events"
            status, answer = await self._api.request("POST", path, _event(record, self._instance))
        except OSError as error:
            self._count("failed")
            self._failures.report(error)
            return
        if status == HTTPStatus.CREATED:
            self._count("written")
            self._failures.recover()
            return
        self._count("failed")
        if not _is_going(status, answer):
            self._failures.report(_refusal(status, answer))


def _denying(outcome: Outcome) -> list[str]:
    return sorted({code for code, severity in outcome.verdict.counts if severity is Severity.DENY})


def _record(outcome: Outcome, controller: Controller) -> _Record:
    namespace, now = outcome.request.namespace, datetime.now(UTC)
    if outcome.allowed:
        message = (
            "a pod asks for more GPUs than its containers may share: the webhook restricts it to nodes with whole cards"
        )
        return _Record(namespace, controller, "Normal", STEERED, message, now)
    message = cut("\n".join(outcome.denial_lines()), _MESSAGE)
    return _Record(namespace, controller, "Warning", DENIED, message, now)


def _event(record: _Record, instance: str) -> Object:
    """The Event. Its name holds no text of a user, which may be no legal name."""
    when = record.seen.strftime("%Y-%m-%dT%H:%M:%SZ")
    owner = record.controller
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{_COMPONENT}-"},
        "involvedObject": {
            "apiVersion": owner.apiVersion,
            "kind": owner.kind,
            "namespace": record.namespace,
            "name": owner.name,
            "uid": owner.uid,
        },
        "type": record.type,
        "reason": record.reason,
        "message": record.message,
        "count": 1,
        "firstTimestamp": when,
        "lastTimestamp": when,
        "source": {"component": _COMPONENT},
        "reportingComponent": _COMPONENT,
        "reportingInstance": instance,
    }


def _is_going(status: int, answer: Object) -> bool:
    """Whether the namespace ends, or has ended, and takes no Events (kubernetes plugin namespace/lifecycle)."""
    if status == HTTPStatus.NOT_FOUND:
        return True
    details = answer.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return any(isinstance(one, dict) and one.get("reason") == "NamespaceTerminating" for one in causes or ())


def _refusal(status: int, answer: Object) -> str:
    message = str(answer.get("message", ""))
    if status == HTTPStatus.FORBIDDEN and "cannot create resource" in message:
        return RULE.missing("create")
    return f"{status}: {message}"
