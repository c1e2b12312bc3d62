"""Events on the controllers of denied pods: which are written, how many, and what is kept of them."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.facts.server import standing_in
from tests.pki.virtual import virtual
from tests.server.certificates import issue
from tests.server.lines import PATIENCE
from tests.server.reviews import Json, deployment, pod, review
from tests.server.within import client_of, configuration, restored_logging
from webhook.admission import Hook, Outcome, respond
from webhook.app import installed
from webhook.cluster.events import BURST, REMEMBERED, WAITING, PodEvents
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Injections, Settings, SteeringInjection
from webhook.runtime.retry import delay
from webhook.server import Server
from webhook.server.observe.log import EventLog

EVALUATOR = Evaluator.of(Settings())
STEERING = Evaluator.of(Settings(injections=Injections(steering=SteeringInjection(True))))
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "train-5d", "uid": "u-1", "controller": True}
FORBIDDEN = 'events is forbidden: User "x" cannot create resource "events" in API group "" in the namespace "team-a"'


def outcome(
    owners: Any = (OWNER,),
    replicas: object = 2,
    hook: Hook = Hook.MUTATE,
    evaluator: Evaluator = EVALUATOR,
    **request: Any,
) -> Outcome:
    manifest = pod(replicas)
    manifest["metadata"]["ownerReferences"] = owners
    return respond(json.dumps(review(manifest, **request)).encode(), hook, evaluator)


def owner(number: int) -> Json:
    return {**OWNER, "name": f"set-{number}", "uid": f"u-{number}"}


@dataclass(slots=True)
class Answering:
    """An API server that answers every request with the next of some statuses, and then with the last."""

    statuses: list[tuple[int, Json]] = field(default_factory=lambda: [(201, {})])
    asked: list[tuple[str, str, Json]] = field(default_factory=list)

    async def request(self, method: str, path: str, body: Any = None) -> tuple[int, Json]:
        self.asked.append((method, path, body))
        status, answer = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if status == 0:
            raise ConnectionError("connection refused")
        return status, answer


@dataclass(slots=True)
class Writing:
    """Events that are being written in virtual time, with what was counted and logged."""

    events: PodEvents
    api: Answering
    counted: Counter[str]
    logged: list[tuple[str, str, Json]]

    @property
    def bodies(self) -> list[Json]:
        return [body for _, _, body in self.api.asked]


@asynccontextmanager
async def writing(*statuses: tuple[int, Json]) -> AsyncIterator[Writing]:
    api = Answering(list(statuses) or [(201, {})])
    counted: Counter[str] = Counter()
    logged: list[tuple[str, str, Json]] = []

    def log(level: str, event: str, /, **fields: Any) -> None:
        logged.append((level, event, fields))

    clock = asyncio.get_running_loop().time
    events = PodEvents(api, log, lambda result: counted.update([result]), clock)  # type: ignore[arg-type]
    task = asyncio.create_task(events.run())
    try:
        yield Writing(events, api, counted, logged)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@virtual
async def test_denied_pod_gets_event_on_its_controller() -> None:
    async with writing() as written:
        written.events.offer(outcome([{**OWNER, "name": "other", "controller": None}, OWNER]))
        await delay(1)
    ((method, path, event),) = written.api.asked
    assert (method, path) == ("POST", "/api/v1/namespaces/team-a/events")
    assert event["involvedObject"] == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "namespace": "team-a",
        "name": "train-5d",
        "uid": "u-1",
    }
    assert (event["type"], event["reason"]) == ("Warning", "GpuPodDenied")
    assert event["message"].startswith('GPS001 container "train" asks for 2 of "nvidia.com/gpu"; ')
    assert "explain" not in event["message"]
    assert (event["source"], event["reportingComponent"]) == ({"component": "gpushare-webhook"}, "gpushare-webhook")
    assert event["firstTimestamp"] == event["lastTimestamp"]
    assert written.counted == {"written": 1}


@virtual
async def test_steered_pod_gets_normal_event() -> None:
    async with writing() as written:
        written.events.offer(outcome(evaluator=STEERING))
        await delay(1)
    (event,) = written.bodies
    assert (event["type"], event["reason"]) == ("Normal", "GpuPodSteered")
    assert "whole cards" in event["message"]


LENIENT = Evaluator.of(Settings(mode="warn"))
REPORTING = Evaluator.of(Settings(mode="audit", injections=Injections(steering=SteeringInjection(True))))


@pytest.mark.parametrize(
    "unseen",
    [
        outcome(dryRun=True),
        outcome(replicas=1),
        outcome(evaluator=LENIENT),
        outcome(evaluator=REPORTING),
        outcome(None),
        outcome([]),
        outcome([{**OWNER, "controller": False}]),
        outcome(namespace=""),
        outcome(namespace="team-a/../kube-system"),
        outcome(namespace="n" * 64),
        respond(json.dumps(review(deployment(2))).encode(), Hook.VALIDATE, EVALUATOR),
        outcome([{**OWNER, "controller": None}] * 32 + [OWNER]),
        outcome([{**OWNER, "note": "x" * 40_000}]),
        outcome("a controller"),
        outcome([OWNER["name"]]),
        outcome([{**OWNER, "name": 7}]),
        outcome([{**OWNER, "controller": "true"}]),
        outcome([{**OWNER, "uid": ""}]),
        outcome([{**OWNER, "uid": "u" * 65}]),
        outcome([{**OWNER, "name": "n" * 254}]),
        outcome([{"kind": "ReplicaSet", "controller": True}]),
    ],
    ids=[
        *(
            "dry run",
            "allowed",
            "only warned",
            "only reported",
            "null",
            "none",
            "no controller",
            "no namespace",
            "path",
            "long namespace",
        ),
        *("workload", "after the 32nd", "too large", "text", "text in list", "number", "word", "no uid", "long uid"),
        *("long name", "no name"),
    ],
)
@virtual
async def test_pod_gets_no_event(unseen: Outcome) -> None:
    async with writing() as written:
        written.events.offer(unseen)
        await delay(1)
    assert (written.api.asked, written.counted, written.logged) == ([], {}, [])


@virtual
async def test_controller_gets_one_event_per_codes_in_ten_minutes() -> None:
    other = outcome(replicas="x")
    async with writing() as written:
        for _ in range(100):
            written.events.offer(outcome())
            written.events.offer(other)
        await delay(599)
        written.events.offer(outcome())
        await delay(2)
        assert len(written.bodies) == 2
        written.events.offer(outcome())
        await delay(2)
    assert [event["message"][:6] for event in written.bodies] == ["GPS001", "GPS003", "GPS001"]


@virtual
async def test_events_of_many_controllers_are_limited_and_dropped() -> None:
    async with writing() as written:
        for number in range(10_000):
            written.events.offer(outcome([owner(number)]))
        assert written.events.held == (WAITING, WAITING)
        assert written.counted == {"dropped": 10_000 - WAITING}
        await delay(1)
        assert len(written.bodies) == BURST
        await delay(30)
        assert len(written.bodies) == BURST + 30
        await delay(200)
    assert written.counted == {"dropped": 10_000 - WAITING, "written": WAITING}


@virtual
async def test_oldest_controllers_are_forgotten_first() -> None:
    async with writing() as written:
        for number in range(REMEMBERED + 1):
            written.events.offer(outcome([owner(number)]))
            await delay(0.5 if number < BURST else 1.01)
        assert written.events.held[0] == REMEMBERED
        written.events.offer(outcome([owner(REMEMBERED)]))
        await delay(2)
        assert written.counted == {"written": REMEMBERED + 1}


@virtual
async def test_long_denial_is_cut() -> None:
    wrong = [{"name": f"c{number}" * 20, "resources": {"limits": {"nvidia.com/gpu": 2}}} for number in range(300)]
    manifest = pod(containers=wrong)
    manifest["metadata"]["ownerReferences"] = [OWNER]
    async with writing() as written:
        written.events.offer(respond(json.dumps(review(manifest)).encode(), Hook.VALIDATE, EVALUATOR))
        await delay(1)
    (event,) = written.bodies
    assert (len(event["message"]), event["message"][-1]) == (1024, "…")


@virtual
async def test_missing_right_is_logged_once_with_its_rule() -> None:
    async with writing((403, {"message": FORBIDDEN}), (403, {"message": FORBIDDEN}), (201, {})) as written:
        for number in range(3):
            written.events.offer(outcome([owner(number)]))
        await delay(1)
    assert written.logged == [
        (
            "warning",
            "Events are not written",
            {
                "error": "403: not allowed to create events; add this rule to a ClusterRole: "
                '{apiGroups: [""], resources: [events], verbs: [create]}'
            },
        ),
        ("info", "Events are written again", {}),
    ]
    assert written.counted == {"failed": 2, "written": 1}


TERMINATING = {"message": "forbidden", "details": {"causes": [{"reason": "NamespaceTerminating"}]}}


@pytest.mark.parametrize(
    ("status", "answer", "error"),
    [
        (0, {}, "connection refused"),
        (500, {"message": "etcd\nfailed"}, "500: etcd?failed"),
        (403, {"message": "exceeded quota"}, "403: exceeded quota"),
        (403, {"details": {"causes": [7]}}, "403: "),
        (403, {"details": 7}, "403: "),
        (403, TERMINATING, None),
        (404, {"message": "namespaces not found"}, None),
    ],
    ids=["connection", "error", "quota", "odd causes", "odd details", "terminating", "gone"],
)
@virtual
async def test_failed_event_is_counted(status: int, answer: Json, error: str | None) -> None:
    async with writing((status, answer)) as written:
        written.events.offer(outcome())
        await delay(1)
    assert [fields["error"] for _, _, fields in written.logged] == ([] if error is None else [error])
    assert written.counted == {"failed": 1}


def test_owner_references_of_megabytes_are_not_decoded() -> None:
    """They stay as they were sent, and the review is answered as any other."""
    many = outcome([{**OWNER, "controller": False}] * 10_000)
    assert not many.allowed
    assert isinstance(many.request.object["metadata"]["ownerReferences"], msgspec.Raw)  # type: ignore[index]


async def test_server_writes_event_over_https(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way: a review over TLS, and an Event in a request to the API server, for which a stand-in answers."""
    own = cluster / "own"
    own.mkdir()
    certificates = issue(own)
    wanted = configuration("{events: {enabled: true}, server: {shutdownDelay: 0s}}", certificates)
    arrived = asyncio.Event()

    async def created(_: web.Request) -> web.StreamResponse:
        arrived.set()
        return web.json_response({}, status=201)

    async with asyncio.timeout(PATIENCE), standing_in(cluster, created) as stand_in:
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(stand_in.port))
        reading, writing_end = os.pipe()
        log = EventLog("json", "info", writing_end)
        server = Server(wanted, Facts(), log)
        async with installed(server, wanted, None, None):
            with restored_logging():
                await server.startup()
                client, manifest = client_of(server, certificates), pod(2)
                manifest["metadata"]["ownerReferences"] = [OWNER]
                answered = await asyncio.to_thread(client.review, "/mutate", review(manifest))
                await arrived.wait()
                await server.shutdown()
        await asyncio.to_thread(log.close)
        os.close(writing_end)
        os.close(reading)
    assert answered.json()["response"]["allowed"] is False
    (request,), (body,) = stand_in.requests, stand_in.bodies
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/team-a/events")
    assert json.loads(body)["reason"] == "GpuPodDenied"
