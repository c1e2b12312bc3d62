"""The annotations with the parameters of policies: written by replicas that share them, and only where they differ.

The API server is a fake; `tests/cluster/policies` asks a real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from tests.pki.fake_api import Client, FakeApi, wait
from tests.pki.virtual import virtual
from webhook.cluster.parameters_object import ParametersObject

PATH = "/api/v1/namespaces/gpu/serviceaccounts/webhook-parameters"
PREFIX = "parameters.gpushare-webhook/"
MPS = {"mode": "enforce", "sharing": "mps"}
OTHER = {"gpushare-webhook/mode": "warn"}
CAPPED = {"mode": "warn", "sharing": "mps"}


class Replica:
    """A replica with the parameters that it wants, and all that it logged."""

    def __init__(self, api: FakeApi, wanted: Mapping[str, str] | None) -> None:
        self.wanted = wanted
        self.changed = asyncio.Event()
        self.logged: list[tuple[str, str, dict[str, Any]]] = []
        self.seen: list[Mapping[str, str]] = []
        account = ("gpu", "webhook-parameters", PREFIX)
        self.object = ParametersObject(
            Client(api), *account, lambda: self.wanted, self.changed, self._log, self.seen.append
        )

    def want(self, wanted: Mapping[str, str]) -> None:
        self.wanted = wanted
        self.changed.set()

    def errors(self) -> list[str]:
        return [fields["error"] for _, event, fields in self.logged if event == "parameters cannot be written"]

    def _log(self, level: str, event: str, /, **fields: Any) -> None:
        self.logged.append((level, event, fields))


@contextmanager
def running(*replicas: Replica) -> Iterator[None]:
    """Run replicas for the time of the context."""
    tasks = [asyncio.ensure_future(replica.object.run()) for replica in replicas]
    try:
        yield
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()


@pytest.fixture
def api() -> FakeApi:
    """The API server, with the object as the chart makes it, and an annotation that no replica writes."""
    api = FakeApi(Random(1))  # noqa: S311 - the same latencies in each run
    api.put(PATH, {"metadata": {"annotations": OTHER}})
    return api


def put(api: FakeApi, parameters: Mapping[str, str]) -> None:
    api.put(PATH, {"metadata": {"annotations": OTHER | {PREFIX + key: value for key, value in parameters.items()}}})


def data(api: FakeApi) -> Any:
    """The parameters that the object holds beside the other annotation."""
    annotations = dict(api.objects[PATH]["metadata"]["annotations"])
    assert annotations.pop("gpushare-webhook/mode") == "warn"
    return {key.removeprefix(PREFIX): value for key, value in annotations.items()}


@virtual
async def test_parameters_are_written_once(api: FakeApi) -> None:
    replica = Replica(api, MPS)
    with running(replica):
        assert replica.object.age is None
        await wait(1)
        assert data(api) == MPS
        await wait(200)
    assert api.writes == 1
    assert [event for _, event, _ in replica.logged] == ["parameters written"]


@virtual
async def test_change_is_written_at_once(api: FakeApi) -> None:
    replica = Replica(api, MPS)
    with running(replica):
        await wait(30)
        replica.want(CAPPED)
        await wait(0.1)
        assert data(api) == CAPPED


@virtual
async def test_unknown_parameters_change_nothing(api: FakeApi) -> None:
    put(api, CAPPED)
    replica = Replica(api, None)
    with running(replica):
        await wait(30)
        assert (data(api), api.writes, replica.object.age) == (CAPPED, 0, None)
        replica.wanted = MPS
        await wait(2)
        assert data(api) == MPS


@virtual
async def test_foreign_change_is_undone_within_a_minute(api: FakeApi) -> None:
    replica = Replica(api, MPS)
    with running(replica):
        await wait(1)
        put(api, {**MPS, "runtimeClass": "inject"})
        await wait(61)
    assert data(api) == MPS


@virtual
async def test_other_annotations_are_reported_after_each_read(api: FakeApi) -> None:
    replica = Replica(api, MPS)
    with running(replica):
        await wait(1)
        assert replica.seen[-1] == OTHER
        api.put(PATH, {"metadata": {"annotations": {}}})
        await wait(61)
    assert replica.seen[-1] == {}


@virtual
async def test_replicas_that_agree_write_once(api: FakeApi) -> None:
    replicas = [Replica(api, MPS) for _ in range(3)]
    with running(*replicas):
        await wait(10)
        assert data(api) == MPS
        assert [replica.object.age is not None for replica in replicas] == [True] * 3
        assert api.writes == 1
    assert [replica.errors() for replica in replicas] == [[], [], []]


@virtual
async def test_replicas_that_disagree_write_once_per_minute_each(api: FakeApi) -> None:
    replicas = [Replica(api, MPS), Replica(api, CAPPED)]
    with running(*replicas):
        await wait(600)
    assert api.writes <= 24


@virtual
async def test_age_grows_while_api_server_is_lost(api: FakeApi) -> None:
    replica = Replica(api, MPS)
    with running(replica):
        await wait(1)
        api.down = True
        await wait(1000)
        assert replica.object.age is not None
        assert replica.object.age > 900
        api.down = False
        # A request may be in flight, which fails 10 s later; the wait before the next retry is a minute at most.
        await wait(71)
        assert replica.object.age < 71
    assert [level for level, _, _ in replica.logged] == ["info", "warning", "info"]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (
            "GET",
            "403: not allowed to get serviceaccounts gpu/webhook-parameters; add this rule to a Role",
        ),
        ("PATCH", "403: not allowed to patch serviceaccounts gpu/webhook-parameters; add this rule to a Role"),
    ],
)
@virtual
async def test_missing_right_is_named(api: FakeApi, method: str, expected: str) -> None:
    api.forbidden.add((method, PATH))
    replica = Replica(api, MPS)
    with running(replica):
        await wait(100)
    assert len(replica.errors()) == 1
    assert replica.errors()[0].startswith(expected)
    assert "resourceNames: [webhook-parameters], verbs: [get, patch]" in replica.errors()[0]


@virtual
async def test_missing_object_is_reported_and_not_created(api: FakeApi) -> None:
    api.delete(PATH)
    replica = Replica(api, MPS)
    with running(replica):
        await wait(100)
        assert replica.errors() == [
            "ServiceAccount gpu/webhook-parameters does not exist; run helm upgrade, which creates it"
        ]
        put(api, {})
        await wait(61)
    assert data(api) == MPS


@virtual
async def test_answer_of_another_form_is_reported(api: FakeApi) -> None:
    api.objects[PATH]["metadata"]["annotations"] = {"mode": 1}
    replica = Replica(api, MPS)
    with running(replica):
        await wait(10)
    assert replica.errors() == [
        f"GET {PATH}: not an object of the API server: Expected `str`, got `int` - at `$.metadata.annotations[...]`"
    ]


@virtual
async def test_patch_that_never_applies_is_reported(api: FakeApi) -> None:
    api.invalid.add(PATH)
    replica = Replica(api, MPS)
    with running(replica):
        await wait(300)
    assert replica.errors() == [f"PATCH {PATH}: it changes before each write, or the patch is invalid"]
