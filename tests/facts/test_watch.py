"""Watches of the API server: reconnect, resume, start over after an error, skip what they do not know.

The API server is a fake with a script; `tests/cluster/test_live_facts.py` watches a real one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from tests.pki.fake_api import wait, watch_event
from tests.pki.virtual import virtual
from webhook.cluster.api_server import JSON, WatchEvent
from webhook.cluster.objects import SECRET
from webhook.cluster.watch import Collection, Feed

PATH = SECRET.path()
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
    """A running feed of a collection, with its objects after each change, and what it has logged."""

    def __init__(self) -> None:
        self.script = Script()
        self.seen: list[dict[str, int]] = []
        self.logged: list[tuple[str, str, dict[str, Any]]] = []
        self.feed = Feed("objects", Collection(self.script, [SECRET], size), self._changed, self._log)
        self.task = asyncio.get_running_loop().create_task(self.feed.run())

    async def _changed(self) -> None:
        self.seen.append(dict(self.feed.objects or {}))

    def _log(self, level: str, event: str, /, **fields: Any) -> None:
        self.logged.append((level, event, fields))

    async def send(self, *events: Event | Exception | None) -> None:
        for one in events:
            self.script.to_send.put_nowait(one)
        await wait(1)

    async def stop(self) -> None:
        assert not self.task.done()
        self.task.cancel()
        await asyncio.wait([self.task])


def size(found: Raw) -> tuple[str, int]:
    """The name of an object, and the size that `event` gives it."""
    read = msgspec.json.decode(found)
    return read["metadata"]["name"], read["size"]


@virtual
async def test_objects_are_known_after_each_change() -> None:
    watching = Watching()
    await watching.send(event("MODIFIED", 8), event("ADDED", 9, "other"), event("DELETED", 10))
    assert watching.seen == [{"guard": 5}, {"guard": 8}, {"guard": 8, "other": 9}, {"other": 9}]
    await watching.stop()


@virtual
async def test_watch_resumes_at_bookmark_without_listing() -> None:
    watching = Watching()
    await watching.send(event("BOOKMARK", 99), None)
    await wait(10)
    assert watching.feed.age is not None
    assert watching.feed.age > 5
    await watching.send(event("BOOKMARK", 100))
    assert watching.feed.age == 1
    assert watching.script.lists == 1
    assert watching.script.queries == [
        {"allowWatchBookmarks": "true", "resourceVersion": "7"},
        {"allowWatchBookmarks": "true", "resourceVersion": "99"},
    ]
    assert watching.seen == [{"guard": 5}]
    await watching.stop()


@virtual
async def test_watch_lists_again_after_410() -> None:
    watching = Watching()
    await watching.send(event("MODIFIED", 8), GONE)
    await wait(10)
    assert watching.script.lists == 2
    assert watching.script.queries[1]["resourceVersion"] == "7"
    assert watching.seen == [{"guard": 5}, {"guard": 8}, {"guard": 5}]
    error = f"watch of {PATH}: too old resource version"
    assert watching.logged == [("warning", "objects cannot be watched", {"error": error})]
    await watching.stop()


@virtual
async def test_unknown_event_type_is_skipped() -> None:
    watching = Watching()
    await watching.send({"type": "RENAMED", "object": {}}, {"type": "RE\nNAMED", "object": {"metadata": None}})
    await watching.send(event("MODIFIED", 9))
    assert watching.seen == [{"guard": 5}, {"guard": 9}]
    assert (len(watching.script.queries), watching.logged) == (1, [])
    await watching.stop()
