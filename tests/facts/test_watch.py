"""Watches of the API server: reconnect, resume, start over after an error, skip what they do not know.

The API server is a fake with a script; `tests/cluster/test_live_facts.py` watches a real one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from tests.pki.fake_api import wait, watch_event
from tests.pki.virtual import virtual
from webhook.cluster.api_server import JSON, Rule, WatchEvent
from webhook.cluster.readers import Collection
from webhook.cluster.watch import Changed, Confirmed, Listed, WatchLog, changes, follow

PATH = "/api/v1/namespaces/gpu/secrets"
Event = dict[str, Any]


def event(kind: str, version: int, name: str = "guard") -> Event:
    return {"type": kind, "object": {"metadata": {"name": name, "resourceVersion": str(version)}, "size": version}}


GONE: Event = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version"}}


class Script:
    """A fake whose watches send what a test puts into `to_send`: events, an exception, or None to end the watch."""

    def __init__(self) -> None:
        self.lists = 0
        self.queries: list[Mapping[str, str]] = []
        self.to_send: asyncio.Queue[Event | Exception | None] = asyncio.Queue()

    async def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        raise NotImplementedError

    async def read(self, path: str, accept: str = JSON) -> tuple[int, bytes]:
        assert accept == JSON
        assert path == f"{PATH}?limit=250"
        self.lists += 1
        found = {"metadata": {"resourceVersion": "7"}, "items": [event("ADDED", 5)["object"]]}
        return 200, json.dumps(found).encode()

    async def events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[WatchEvent, None]:
        assert path == PATH
        self.queries.append(query)
        while (sent := await self.to_send.get()) is not None:
            if isinstance(sent, Exception):
                raise sent
            yield watch_event(sent)


class Watching:
    """A running watch, with what it has yielded and logged."""

    def __init__(self) -> None:
        self.script = Script()
        self.yielded: list[Any] = []
        self.logged: list[tuple[str, str, dict[str, Any]]] = []

    def log(self, level: str, event: str, /, **fields: Any) -> None:
        self.logged.append((level, event, fields))

    def start(self, watch: AsyncGenerator[Any, None]) -> None:
        async def run() -> None:
            async for one in watch:
                self.yielded.append(one)

        self.task = asyncio.get_running_loop().create_task(run())

    async def send(self, *events: Event | Exception | None) -> None:
        for one in events:
            self.script.to_send.put_nowait(one)
        await wait(1)

    async def stop(self) -> None:
        assert not self.task.done()
        self.task.cancel()
        await asyncio.wait([self.task])


def following() -> Watching:
    """A watch of a collection, whose values are the sizes of its objects."""
    made = Watching()
    log = WatchLog(made.log, "objects")
    reader = Collection(made.script, [PATH], size, Rule("", "secrets", ("list", "watch")))
    made.start(follow(made.script, reader, log))
    return made


def size(found: Raw) -> tuple[str, int]:
    """The name of an object, and the size that `event` gives it."""
    read = msgspec.json.decode(found)
    return read["metadata"]["name"], read["size"]


def named() -> Watching:
    """A watch of the object `guard`."""
    made = Watching()
    made.start(changes(made.script, PATH, "guard", WatchLog(made.log, "objects", "debug"), Random(0)))  # noqa: S311
    return made


@virtual
async def test_follow_yields_parsed_objects_after_each_change() -> None:
    watching = following()
    await watching.send(event("MODIFIED", 8), event("ADDED", 9, "other"), event("DELETED", 10))
    assert watching.yielded == [Listed({"guard": 5}), Changed("guard", 8), Changed("other", 9), Changed("guard", None)]
    await watching.stop()


@virtual
async def test_follow_resumes_at_bookmark_without_listing() -> None:
    watching = following()
    await watching.send(event("BOOKMARK", 99), None)
    await wait(10)
    assert watching.script.lists == 1
    assert watching.script.queries == [
        {"allowWatchBookmarks": "true", "resourceVersion": "7"},
        {"allowWatchBookmarks": "true", "resourceVersion": "99"},
    ]
    assert watching.yielded == [Listed({"guard": 5}), Confirmed(), Confirmed()]
    await watching.stop()


@virtual
async def test_follow_lists_again_after_410() -> None:
    watching = following()
    await watching.send(event("MODIFIED", 8), GONE)
    await wait(10)
    assert watching.script.lists == 2
    assert watching.yielded == [Listed({"guard": 5}), Changed("guard", 8), Listed({"guard": 5})]
    error = f"watch of {PATH}: too old resource version"
    assert watching.logged == [("warning", "objects cannot be watched", {"error": error})]
    await watching.stop()


@virtual
async def test_changes_begins_with_what_exists_and_never_lists() -> None:
    watching = named()
    await watching.send(event("ADDED", 8), event("MODIFIED", 9), event("DELETED", 10))
    assert watching.script.lists == 0
    assert watching.script.queries == [{"fieldSelector": "metadata.name=guard", "allowWatchBookmarks": "true"}]
    assert watching.yielded == [None, None, None]
    await watching.stop()


@virtual
async def test_changes_resumes_without_reporting_a_change() -> None:
    watching = named()
    await watching.send(event("ADDED", 8), event("BOOKMARK", 20), None)
    await wait(10)
    assert [query.get("resourceVersion") for query in watching.script.queries] == [None, "20"]
    assert watching.yielded == [None]
    await watching.stop()


@pytest.mark.parametrize("error", [GONE, ConnectionError("410 Gone")], ids=["an event", "the response"])
@virtual
async def test_changes_starts_over_after_410_and_reports_a_change(error: Event | Exception) -> None:
    """The object may have been deleted meanwhile, which a watch that starts over does not report."""
    watching = named()
    await watching.send(event("ADDED", 8), error)
    await wait(10)
    assert [query.get("resourceVersion") for query in watching.script.queries] == [None, None]
    assert watching.yielded == [None, None]
    assert [(level, what) for level, what, _ in watching.logged] == [("debug", "objects cannot be watched")]
    await watching.stop()


@pytest.mark.parametrize("start", [following, named])
@virtual
async def test_unknown_event_type_is_logged_once_and_skipped(start: Any) -> None:
    watching = start()
    await watching.send(event("ADDED", 8))
    before = len(watching.yielded)
    for _ in range(3):
        await watching.send({"type": "RENAMED", "object": {}}, {"type": "RE\nNAMED", "object": {"metadata": None}})
    assert len(watching.yielded) == before
    assert watching.logged == [
        ("warning", "unknown watch event skipped", {"path": PATH, "type": "RENAMED"}),
        ("warning", "unknown watch event skipped", {"path": PATH, "type": "RE?NAMED"}),
    ]
    await watching.send(event("MODIFIED", 9))
    assert len(watching.yielded) == before + 1
    assert len(watching.script.queries) == 1
    await watching.stop()


@virtual
async def test_log_of_unknown_event_types_is_bounded() -> None:
    watching = following()
    await watching.send(*({"type": f"T{number}", "object": {}} for number in range(1000)))
    assert len(watching.logged) == 8
    await watching.stop()
