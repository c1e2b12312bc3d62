"""A FAKE API server: objects in memory, with the manners of a real one that certificates depend on.

Resource versions, conflicts, JSON patches that fail as a whole, watches by name that begin with what is there or resume
at a version, responses that get lost after the write, and rights. `tests/cluster/test_rotation_api.py` asks a real API
server the same questions.
"""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from random import Random
from typing import Any

import jsonpatch
import msgspec

from webhook.cluster.api_server import JSON, WatchEvent

Object = dict[str, Any]
Answer = tuple[int, Object]

KEPT = 20
"""Events of one object that the server keeps for watches that resume."""


class FakeApi:
    """The server. `changed` is called with path, object (None: deleted) and author after each change.

    `forbidden` are methods with the paths that they are refused on; patches of `invalid` paths are never taken.
    """

    def __init__(self, chance: Random, latency: float = 0.01) -> None:
        self.chance = chance
        self.latency = latency
        self.objects: dict[str, Object] = {}
        self.forbidden: set[tuple[str, str]] = set()
        self.invalid: set[str] = set()
        self.down = False
        self.changed: Callable[[str, Object | None, str], None] = lambda _path, _object, _by: None
        self.writes = 0
        self.version = 0
        self._events: dict[str, deque[tuple[int, Object]]] = {}
        self._watching: dict[str, dict[asyncio.Event, None]] = {}

    def get(self, path: str) -> Object | None:
        """A copy of what is there."""
        return copy.deepcopy(self.objects.get(path))

    def put(self, path: str, wanted: Object, by: str = "another client") -> Object:
        """Store an object as this client."""
        self.version += 1
        stored = copy.deepcopy(wanted)
        metadata = stored.setdefault("metadata", {})
        metadata.setdefault("name", path.rpartition("/")[2])
        metadata["resourceVersion"] = str(self.version)
        metadata.setdefault("uid", f"uid-{self.version}")
        kind = "MODIFIED" if path in self.objects else "ADDED"
        self.objects[path] = stored
        self._notify(kind, path, stored, by)
        return copy.deepcopy(stored)

    def delete(self, path: str) -> None:
        """Delete an object as another client."""
        self.version += 1
        gone = self.objects.pop(path)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._notify("DELETED", path, gone, "another client")

    def since(self, path: str, version: int) -> list[Object]:
        """The events of an object after a version, or the one error that says that they are no longer kept."""
        kept = self._events.get(path, deque())
        if len(kept) == KEPT and version < kept[0][0]:
            return [{"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version"}}]
        return [copy.deepcopy(event) for at, event in kept if at > version]

    def answer(self, method: str, path: str, body: Any) -> Answer:
        """What a request does, and its answer."""
        if any(method == denied and path.startswith(prefix) for denied, prefix in self.forbidden):
            return _status(403, "forbidden")
        if method == "POST":
            path = f"{path}/{body['metadata']['name']}"
            return _status(409, "already exists") if path in self.objects else (201, self._ours(path, body))
        present = self.objects.get(path)
        if present is None:
            return _status(404, "not found")
        if method == "GET":
            return 200, copy.deepcopy(present)
        if method == "DELETE":
            self.delete(path)
            return 200, {"kind": "Status"}
        if method == "PUT":
            stale = body["metadata"].get("resourceVersion") != present["metadata"]["resourceVersion"]
            return _status(409, "the object has been modified") if stale else (200, self._ours(path, body))
        if path in self.invalid:
            return _status(422, "caBundle: Invalid value")
        try:
            return 200, self._ours(path, jsonpatch.apply_patch(present, body))
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
            return _status(422, "the server rejected our request")

    def watched(self, path: str) -> asyncio.Event:
        """An event that is set whenever the object changes."""
        event = asyncio.Event()
        self._watching.setdefault(path, {})[event] = None
        return event

    def unwatched(self, path: str, event: asyncio.Event) -> None:
        """Forget this event."""
        self._watching[path].pop(event)

    def _ours(self, path: str, wanted: Object) -> Object:
        self.writes += 1
        return self.put(path, wanted, by="us")

    def _notify(self, kind: str, path: str, found: Object, by: str) -> None:
        event = {"type": kind, "object": copy.deepcopy(found)}
        self._events.setdefault(path, deque(maxlen=KEPT)).append((self.version, event))
        self.changed(path, self.get(path), by)
        for waiting in self._watching.get(path, ()):
            waiting.set()


class Client:
    """One replica's connection to the server. `lost`: no responses. `deaf`: how often one gets lost after the write."""

    def __init__(self, api: FakeApi) -> None:
        self._api = api
        self.lost = False
        self.deaf = 0.0
        self.watch_lag = 0.05
        self.watch_lives = (200.0, 400.0)
        self.requests: list[tuple[str, str]] = []
        self.watches: list[tuple[str, str | None]] = []

    async def request(self, method: str, path: str, body: Any = None) -> Answer:
        self.requests.append((method, path))
        await self._travel()
        answer = self._api.answer(method, path, copy.deepcopy(body))
        await self._travel()
        if self._api.chance.random() < self.deaf:
            raise TimeoutError("the answer got lost")
        return answer

    async def read(self, path: str, accept: str = JSON) -> tuple[int, bytes]:  # noqa: ARG002 - it holds no lists
        status, found = await self.request("GET", path)
        return status, msgspec.json.encode(found)

    async def events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[WatchEvent, None]:
        """A watch by name: without a version it begins with what is there. The server ends it after some minutes."""
        self.watches.append((path, query.get("resourceVersion")))
        await self._travel()
        if ("WATCH", path) in self._api.forbidden:
            raise PermissionError("403")
        here = f"{path}/{query['fieldSelector'].removeprefix('metadata.name=')}"
        changed = self._api.watched(here)
        end = asyncio.get_running_loop().time() + self._api.chance.uniform(*self.watch_lives)
        try:
            if "resourceVersion" in query:
                version = int(query["resourceVersion"])
            else:
                version = self._api.version
                if (present := self._api.get(here)) is not None:
                    yield watch_event({"type": "ADDED", "object": present})
            while True:
                for event in self._api.since(here, version):
                    yield watch_event(event)
                    version = int(event["object"]["metadata"]["resourceVersion"])
                async with asyncio.timeout_at(end):
                    await changed.wait()
                changed.clear()
                await wait(self.watch_lag)
                await self._travel()
        except TimeoutError:
            return
        finally:
            self._api.unwatched(here, changed)

    async def _travel(self) -> None:
        await wait(self._api.chance.uniform(0.2, 1.0) * self._api.latency)
        if self.lost or self._api.down:
            await wait(self._api.chance.choice([0.0, 10.0]))
            raise ConnectionError("no answer")


def watch_event(event: Object) -> WatchEvent:
    """An event as the client yields it."""
    return msgspec.convert(
        {"type": event["type"], "object": msgspec.Raw(msgspec.json.encode(event["object"]))}, WatchEvent
    )


async def wait(seconds: float) -> None:
    """Let virtual time pass."""
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(seconds, lambda: None if done.done() else done.set_result(None))
    await done


def _status(code: int, message: str) -> Answer:
    return code, {"kind": "Status", "code": code, "message": message}
