"""How objects are first read: collections in pages, and single objects by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import ApiServer, ResponseTooLargeError, Rule
from webhook.cluster.watch import FAILURES, UNDECODABLE, Bookmark, ReadError, ResourceVersion, Start
from webhook.policy.messages import printable
from webhook.runtime.retry import next_turn

T = TypeVar("T")

_BATCH: Final = 20
"""Objects that are decoded in one go: less than a millisecond for nodes of 15 KB."""

_EXPIRED: Final = 3
"""Times that a list may expire between two pages before it counts as failed."""


class _ListMeta(Struct, rename="camel"):
    resource_version: ResourceVersion
    continue_: str = msgspec.field(default="", name="continue")


class _Page(Struct):
    metadata: _ListMeta
    items: list[Raw] | None = None


_PAGES = msgspec.json.Decoder(_Page)


class _ExpiredError(Exception):
    """The server no longer has the version that the pages of a list are taken from."""


class _NotFoundError(Exception):
    """The server does not serve this path, or has no such object."""


@dataclass(frozen=True, slots=True)
class Collection(Generic[T]):
    """Reads all objects of one kind in pages. Needs the rights to list and to watch.

    `paths` are the versions of its API, the best first. The first one that the server has is read. If it has
    none, there are no objects. `page` is the number of objects to ask for at once.
    """

    resumes: ClassVar[bool] = True

    api: ApiServer
    paths: Sequence[str]
    parse: Callable[[Raw], tuple[str, T | None]]
    rule: Rule
    page: int = 250

    async def start(self) -> Start[T]:
        """List the objects of the first version that the server has. Raises ReadError."""
        for path in self.paths:
            try:
                return await self._listed(path)
            except _NotFoundError:
                continue
        return Start({}, None)

    async def _listed(self, path: str) -> Start[T]:
        for _ in range(_EXPIRED):
            try:
                return await self._pages(path)
            except _ExpiredError:
                continue
        raise ReadError(f"list of {path}: it expires before its last page is read")

    async def _pages(self, path: str) -> Start[T]:
        objects: dict[str, T] = {}
        limit, rest = self.page, ""
        while True:
            query = {"limit": str(limit)} | ({"continue": rest} if rest else {})
            try:
                body = await _answer(self.api, f"{path}?{urlencode(query)}", f"list of {path}", self.rule, "list")
            except ResponseTooLargeError as error:
                if limit == 1:
                    raise ReadError(str(error)) from None
                limit = max(1, limit // 4)
                continue
            try:
                page = _PAGES.decode(body)
                items = page.items or []
                for at in range(0, len(items), _BATCH):
                    parsed = map(self.parse, items[at : at + _BATCH])
                    objects.update((name, value) for name, value in parsed if value is not None)
                    await next_turn()
            except UNDECODABLE as error:
                raise ReadError(f"list of {path}: not a list of the API server: {error}") from None
            rest = page.metadata.continue_
            if not rest:
                return Start(objects, Bookmark(path, {}, page.metadata.resource_version))


@dataclass(frozen=True, slots=True)
class Named(Generic[T]):
    """Reads one object by its name. Needs the rights to get and to watch it, and none to list.

    A watch without a resource version begins with what is there, but reports nothing about an object that is missing.
    So the object is read before each watch, every few minutes, and a deletion between the two is noticed then.
    """

    resumes: ClassVar[bool] = False

    api: ApiServer
    path: str
    name: str
    parse: Callable[[Raw], tuple[str, T | None]]
    rule: Rule

    async def start(self) -> Start[T]:
        path = f"{self.path}/{self.name}"
        bookmark = Bookmark(self.path, {"fieldSelector": f"metadata.name={self.name}"}, None)
        try:
            body = await _answer(self.api, path, f"GET {path}", self.rule, "get")
        except (_NotFoundError, _ExpiredError):
            return Start({}, bookmark)
        try:
            name, value = self.parse(Raw(body))
        except UNDECODABLE as error:
            raise ReadError(f"GET {path}: not an object of the API server: {error}") from None
        return Start({} if value is None else {name: value}, bookmark)


async def _answer(api: ApiServer, path: str, asked: str, rule: Rule, verb: str) -> bytes:
    """The body of a response with status 200. Raises ReadError for any other, and ResponseTooLargeError."""
    try:
        status, body = await api.read(path)
    except ResponseTooLargeError:
        raise
    except OSError as error:
        raise ReadError(str(error)) from None
    match status:
        case 200:
            return body
        case 403:
            raise ReadError(rule.missing(verb))
        case 404:
            raise _NotFoundError
        case 410:
            raise _ExpiredError
    raise ReadError(f"{asked}: {status} {printable(_message(body))}".rstrip())


def _message(body: bytes) -> str:
    """The server's words about a failure; empty for a proxy's page."""
    try:
        return FAILURES.decode(body).message
    except UNDECODABLE:
        return ""
