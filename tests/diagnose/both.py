"""A question is asked both ways: of the API server, whose stand-in answers in memory, and of the same objects saved."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

from tests.cli.cluster import FakeCluster
from webhook.cluster import objects as kinds
from webhook.cluster.api_server import JSON, ApiServer, Object, WatchEvent
from webhook.cluster.classes import POD_GROUPS, WORKLOADS
from webhook.cluster.objects import POD, Kind, LiveObjects, NotFoundError
from webhook.diagnose.saved import SavedObjects

Found = TypeVar("Found")


def put(cluster: FakeCluster, kind: Kind, found: Object) -> Object:
    """Add an object to the lists that hold it, and return it."""
    namespace, name = found["metadata"].get("namespace"), found["metadata"]["name"]
    _KINDS.setdefault(kind.path(), kind)
    with suppress(NotFoundError):  # only a list can show a name that is not legal
        cluster.objects[kind.path(namespace, name)] = found
    for where in {None, namespace}:
        cluster.lists.setdefault(kind.path(where), []).append(found)
    return found


def cluster_of(found: Iterable[Object]) -> FakeCluster:
    """A stand-in for a cluster of objects, each with its version and kind."""
    cluster = FakeCluster()
    known = {(one.root.split("/", 2)[2], one.name): one for one in _KINDS.values()}
    for one in found:
        kind = known[one["apiVersion"], one["kind"].lower()]
        put(cluster, kind, one)
        served = cluster.objects.setdefault(kind.root, {"resources": []})["resources"]
        served.append({"name": kind.plural, "kind": kind.kind})
    return cluster


_KINDS = {one.path(): one for one in (*vars(kinds).values(), *WORKLOADS, *POD_GROUPS) if isinstance(one, Kind)}
"""The kinds by the path of their lists; those of tests join them."""


async def both_ways(
    cluster: FakeCluster, ask: Callable[[Any], Awaitable[Found]], said: Callable[[Found], object] = lambda found: found
) -> Found:
    """The answer of a live cluster, which is also that of its saved objects. `said` is what an answer says."""
    found, of_files = await ask(LiveObjects(StandIn(cluster))), await ask(Saved(cluster))
    assert said(found) == said(of_files)
    return found


class StandIn(ApiServer):
    """The API server of a stand-in cluster, without HTTP."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    async def read(self, path: str, accept: str = JSON) -> tuple[int, bytes]:
        of, _, query = path.partition("?")
        request: Any = SimpleNamespace(
            path=unquote(of), raw_path=path, query=dict(parse_qsl(query)), headers={"Accept": accept}
        )
        response: Any = await self._cluster.answer(request)
        return response.status, response.body

    async def request(self, method: str, path: str, body: Object | list[Object] | None = None) -> tuple[int, Object]:
        raise NotImplementedError

    def events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[WatchEvent, None]:
        raise NotImplementedError


class Saved(SavedObjects):
    """All objects that a user may read of a cluster, saved: what they lack does not exist."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(
            {"apiVersion": kind.root.split("/", 2)[2], "kind": kind.name, **one}
            for path, kind in _KINDS.items()
            for one in cluster.lists.get(path, ())
            if path not in cluster.refused
        )
        self._cluster = cluster

    async def one(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        return None if self.hides(kind, namespace, name) else await super().one(kind, namespace, name)

    def lacks(self, kind: Kind, namespace: str | None = None) -> bool:  # noqa: ARG002 - files are of all namespaces
        return kind.path() in self._cluster.refused

    def has_all(self, kind: Kind) -> bool:
        return not self.lacks(kind)

    def hides(self, kind: Kind, namespace: str | None, name: str) -> bool:
        with suppress(NotFoundError):  # only a list can show a name that is not legal
            return kind.path(namespace, name) in self._cluster.refused
        return False

    async def metrics(self, namespace: str, pod: str, port: int) -> str | None:
        return self._cluster.texts.get(f"{POD.path(namespace, pod)}:{port}/proxy/metrics")
