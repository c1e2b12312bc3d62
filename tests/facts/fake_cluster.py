"""A FAKE API server for facts: collections in memory, with pages, versions, rights and watches as a real one has them.

`tests/cluster` asks a real API server the same questions.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec import Raw

from tests.pki.fake_api import wait
from webhook.cluster.api_server import JSON, METADATA, ResponseTooLargeError, StatusError, WatchEvent

Object = dict[str, Any]

NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
DEVICE_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
CONFIG_MAPS = "/api/v1/namespaces/gpu/configmaps"
ACCOUNTS = "/api/v1/namespaces/gpu/serviceaccounts"
DAEMON_SETS = "/apis/apps/v1/namespaces/gpu/daemonsets"

SERVED = (NODES, NAMESPACES, RUNTIME_CLASSES, DEVICE_CLASSES, CONFIG_MAPS, ACCOUNTS, DAEMON_SETS)


class FakeCluster:
    """The server. `forbidden` holds pairs of a verb and a path; `down` and `slow` are paths.

    `largest` is the size limit of the client in bytes. `expiring` counts, by path, the continued pages that find their
    version gone. Each watch gets what happens to its collection, and what `send` puts into it.
    """

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Object]] = {path: {} for path in SERVED}
        self.version = 10
        self.forbidden: set[tuple[str, str]] = set()
        self.down: set[str] = set()
        self.slow: set[str] = set()
        self.expiring: Counter[str] = Counter()
        self.garbage: dict[str, bytes] = {}
        self.largest = 16 * 2**20
        self.reads: list[str] = []
        self.created: list[tuple[str, str, Any]] = []
        self.watched: list[tuple[str, Mapping[str, str]]] = []
        self._watches: dict[str, list[asyncio.Queue[WatchEvent | Exception | None]]] = {}

    def put(self, path: str, name: str, found: Object) -> None:
        """Create or replace an object, without a kind: lists leave it out."""
        kind = "MODIFIED" if name in self.objects[path] else "ADDED"
        self.version += 1
        stored = {
            **found,
            "metadata": {**found.get("metadata", {}), "name": name, "resourceVersion": str(self.version)},
        }
        self.objects[path][name] = stored
        self.send(path, kind, stored)

    def delete(self, path: str, name: str) -> None:
        """Delete an object."""
        self.version += 1
        gone = self.objects[path].pop(name)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self.send(path, "DELETED", gone)

    def bookmark(self, path: str) -> None:
        """Confirm a collection to its watches, as the API server does once per minute."""
        self.send(path, "BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})

    def send(self, path: str, kind: str, found: Any) -> None:
        """Send an event to the watches of a collection."""
        for queue in self._watches.get(path, ()):
            queue.put_nowait(WatchEvent(kind, Raw(json.dumps(found).encode())))

    def end(self, path: str, error: Exception | None = None) -> None:
        """End the watches of a collection, cut off with an error or because their time is over."""
        for queue in self._watches.get(path, ()):
            queue.put_nowait(error)

    def expire(self, path: str) -> None:
        """Tell the watches of a collection that their version is gone."""
        self.send(path, "ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})

    async def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Record what is created, unless the API server is down or forbids it."""
        if path in self.down:
            raise ConnectionError("no answer")
        self.created.append((method, path, body))
        return (403, {"message": "events is forbidden"}) if ("create", path) in self.forbidden else (201, body)

    async def read(self, path: str, accept: str = JSON) -> tuple[int, bytes]:
        self.reads.append(path)
        await wait(0.01)
        asked = urlsplit(path)
        collection = asked.path if asked.path in self.objects else asked.path.rpartition("/")[0]
        if collection in self.slow:
            await wait(9.9)
        if collection in self.down:
            raise ConnectionError("no answer")
        if collection in self.garbage:
            return 200, self.garbage[collection]
        verb = "list" if collection == asked.path else "get"
        if (verb, collection) in self.forbidden:
            return 403, json.dumps({"kind": "Status", "message": "forbidden"}).encode()
        if collection not in self.objects:
            return 404, b"404 page not found\n"
        if verb == "get":
            found = self.objects[collection].get(asked.path.rpartition("/")[2])
            return (404, b'{"kind": "Status"}') if found is None else (200, json.dumps(found).encode())
        query = {key: values[0] for key, values in parse_qs(asked.query).items()}
        if "continue" in query and self.expiring[collection]:
            self.expiring[collection] -= 1
            return 410, json.dumps({"kind": "Status", "message": "the provided continue parameter is too old"}).encode()
        return 200, self._page(collection, int(query.get("limit", "0")), int(query.get("continue", "0")), accept)

    async def events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[WatchEvent, None]:
        self.watched.append((path, query))
        await wait(0.01)
        if path in self.down:
            raise ConnectionError("no answer")
        if ("watch", path) in self.forbidden:
            raise StatusError(403, f"watch of {path}: 403 Forbidden")
        queue: asyncio.Queue[WatchEvent | Exception | None] = asyncio.Queue()
        queues = self._watches.setdefault(path, [])
        queues.append(queue)
        name = query.get("fieldSelector", "").removeprefix("metadata.name=")
        try:
            if "resourceVersion" not in query:
                for found in [one for key, one in self.objects[path].items() if not name or key == name]:
                    yield WatchEvent("ADDED", Raw(json.dumps(found).encode()))
            while (event := await queue.get()) is not None:
                if isinstance(event, Exception):
                    raise event
                if not name or event.type in ("BOOKMARK", "ERROR") or _name(event) == name:
                    yield event
        finally:
            queues.remove(queue)

    def _page(self, collection: str, limit: int, start: int, accept: str) -> bytes:
        names = sorted(self.objects[collection])
        end = start + limit if limit and start + limit < len(names) else len(names)
        metadata = {"resourceVersion": str(self.version)} | ({"continue": str(end)} if end < len(names) else {})
        items = [self.objects[collection][name] for name in names[start:end]]
        if accept == METADATA:
            items = [{"kind": "PartialObjectMetadata", "metadata": one["metadata"]} for one in items]
        body = json.dumps({"metadata": metadata, "items": items or None}).encode()
        if len(body) > self.largest:
            raise ResponseTooLargeError(f"the answer is larger than {self.largest} bytes")
        return body


def _name(event: WatchEvent) -> str:
    name: str = json.loads(bytes(event.object))["metadata"]["name"]
    return name


def gpu_node(amount: int = 4, /, **labels: str) -> Object:
    """A node with this amount of `nvidia.com/gpu`."""
    units = {"cpu": "8", "nvidia.com/gpu": str(amount)}
    return {"metadata": {"labels": labels}, "status": {"capacity": units, "allocatable": units}}
