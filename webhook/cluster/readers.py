"""How objects are first read: collections in pages, and single objects by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeVar

from msgspec import Raw

from webhook.cluster.api_server import UNDECODABLE, ApiServer, Rule
from webhook.cluster.objects import Kind
from webhook.cluster.pages import ExpiredError, NotFoundError, Unread, answer, pages
from webhook.cluster.watch import Bookmark, ReadError, Start
from webhook.runtime.retry import next_turn

T = TypeVar("T")

_BATCH: Final = 20
"""Objects that are decoded in one go: less than a millisecond for nodes of 15 KB."""

_EXPIRED: Final = 3
"""Times that a list may expire between two pages before it counts as failed."""


@dataclass(frozen=True, slots=True)
class Collection(Generic[T]):
    """Reads all objects of one kind in pages. Needs the rights to list and to watch.

    `paths` are the versions of its API, the best first. The first one that the server has is read. If it has
    none, there are no objects. `page` is the number of objects to ask for at once. `parse_metadata` reads the
    metadata of an object that cannot be read; without it, such an object fails the list.
    """

    resumes: ClassVar[bool] = True

    api: ApiServer
    paths: Sequence[str]
    parse: Callable[[Raw], tuple[str, T | None]]
    rule: Rule
    page: int = 250
    parse_metadata: Callable[[Raw], tuple[str, T | None]] | None = None

    async def start(self) -> Start[T]:
        """List the objects of the first version that the server has. Raises ReadError."""
        for path in self.paths:
            try:
                return await self._listed(path)
            except NotFoundError:
                continue
        return Start({}, None)

    async def _listed(self, path: str) -> Start[T]:
        for _ in range(_EXPIRED):
            try:
                return await self._pages(path)
            except ExpiredError:
                continue
        raise ReadError(f"list of {path}: it expires before its last page is read")

    async def _pages(self, path: str) -> Start[T]:
        objects: dict[str, T] = {}
        version = None
        async with aclosing(pages(self.api, path, self.rule, self.page)) as listed:
            async for page in listed:
                version = page.metadata.resource_version
                if isinstance(page, Unread):
                    if self.parse_metadata is None:
                        raise ReadError(page.why)
                    parse, items = self.parse_metadata, [page.item]
                else:
                    parse, items = self.parse, page.items or []
                try:
                    for at in range(0, len(items), _BATCH):
                        parsed = map(parse, items[at : at + _BATCH])
                        objects.update((name, value) for name, value in parsed if value is not None)
                        await next_turn()
                except UNDECODABLE as error:
                    raise ReadError(f"list of {path}: not a list of the API server: {error}") from None
        return Start(objects, Bookmark(path, {}, version))


@dataclass(frozen=True, slots=True)
class Named(Generic[T]):
    """Reads one object by its name. Needs the rights to get and to watch it, and none to list.

    A watch without a resource version begins with what is there, but reports nothing about an object that is missing.
    So the object is read before each watch, every few minutes, and a deletion between the two is noticed then.
    """

    resumes: ClassVar[bool] = False

    api: ApiServer
    kind: Kind
    namespace: str
    name: str
    parse: Callable[[Raw], tuple[str, T | None]]
    rule: Rule

    async def start(self) -> Start[T]:
        path = self.kind.path(self.namespace, self.name)
        bookmark = Bookmark(self.kind.path(self.namespace), {"fieldSelector": f"metadata.name={self.name}"}, None)
        try:
            body = await answer(self.api, path, f"GET {path}", self.rule, "get")
        except (NotFoundError, ExpiredError):
            return Start({}, bookmark)
        try:
            name, value = self.parse(Raw(body))
        except UNDECODABLE as error:
            raise ReadError(f"GET {path}: not an object of the API server: {error}") from None
        return Start({} if value is None else {name: value}, bookmark)
