"""A FAKE API server: objects in memory, with the manners of a real one that certificates depend on.

Resource versions, conflicts, JSON patches that are void when a test fails, watches by name that begin with what is
there, answers that get lost after the deed, and rights. `tests/cluster/test_rotation_api.py` asks a real API server the
same questions.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any

import jsonpatch

Object = dict[str, Any]
Answer = tuple[int, Object]


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
        self._version = 0
        self._watching: dict[str, dict[asyncio.Event, None]] = {}

    def get(self, path: str) -> Object | None:
        """A copy of what is there."""
        return copy.deepcopy(self.objects.get(path))

    def put(self, path: str, wanted: Object, by: str = "somebody else") -> Object:
        """Store an object, whoever does."""
        self._version += 1
        stored = copy.deepcopy(wanted)
        metadata = stored.setdefault("metadata", {})
        metadata["resourceVersion"] = str(self._version)
        metadata.setdefault("uid", f"uid-{self._version}")
        self.objects[path] = stored
        self._tell(path, by)
        return copy.deepcopy(stored)

    def delete(self, path: str) -> None:
        """Delete an object, whoever does."""
        self._version += 1
        del self.objects[path]
        self._tell(path, "somebody else")

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
        """Nobody waits for this event any more."""
        self._watching[path].pop(event)

    def _ours(self, path: str, wanted: Object) -> Object:
        self.writes += 1
        return self.put(path, wanted, by="us")

    def _tell(self, path: str, by: str) -> None:
        self.changed(path, self.get(path), by)
        for event in self._watching.get(path, ()):
            event.set()


class Client:
    """One replica's connection to the server. `lost`: no answers. `deaf`: the deed is done, its answer gets lost."""

    def __init__(self, api: FakeApi) -> None:
        self._api = api
        self.lost = False
        self.deaf = 0.0
        self.watch_lag = 0.05
        self.watch_lives = (200.0, 400.0)
        self.requests: list[tuple[str, str]] = []

    async def request(self, method: str, path: str, body: Any = None) -> Answer:
        self.requests.append((method, path))
        await self._travel()
        answer = self._api.answer(method, path, copy.deepcopy(body))
        await self._travel()
        if self._api.chance.random() < self.deaf:
            raise TimeoutError("the answer got lost")
        return answer

    async def watch(self, path: str, name: str) -> AsyncIterator[object]:
        """As the real one: what is there comes first, and the server ends it after some minutes."""
        await self._travel()
        if ("WATCH", path) in self._api.forbidden:
            raise PermissionError("403")
        here = f"{path}/{name}"
        event = self._api.watched(here)
        try:
            if self._api.get(here) is not None:
                yield here
            async with asyncio.timeout(self._api.chance.uniform(*self.watch_lives)):
                while True:
                    await event.wait()
                    event.clear()
                    await wait(self.watch_lag)
                    await self._travel()
                    yield here
        except TimeoutError:
            return
        finally:
            self._api.unwatched(here, event)

    async def _travel(self) -> None:
        await wait(self._api.chance.uniform(0.2, 1.0) * self._api.latency)
        if self.lost or self._api.down:
            await wait(self._api.chance.choice([0.0, 10.0]))
            raise ConnectionError("no answer")


async def wait(seconds: float) -> None:
    """Let virtual time pass."""
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(seconds, lambda: None if done.done() else done.set_result(None))
    await done


def _status(code: int, message: str) -> Answer:
    return code, {"kind": "Status", "code": code, "message": message}
