"""How objects are first read: collections in pages, and single objects by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from msgspec import Raw

from webhook.cluster.api_server import UNDECODABLE, ApiServer, Rule
from webhook.cluster.objects import Kind
from webhook.cluster.pages import ExpiredError, NotFoundError, ReadError, answer, pages
from webhook.cluster.watch import Start
from webhook.runtime.retry import next_turn

T = TypeVar("T")

_BATCH: Final = 20
"""Objects that are decoded in one go: less than a millisecond for nodes of 15 KB."""

_EXPIRED: Final = 3
"""Times that a list may expire between two pages before it counts as failed."""


@dataclass(frozen=True, slots=True)
class Collection(Generic[T]):
    """Reads all objects of one kind in pages. Needs the rights to list and to watch.

    `kinds` are the versions of its API, the best first. The first one that the server has is read. If it has
    none, there are no objects. `page` is the number of objects to ask for at once. `parse_metadata` reads the
    metadata of an object that cannot be read; without it, such an object fails the list.
    """

    api: ApiServer
    kinds: Sequence[Kind]
    parse: Callable[[Raw], tuple[str, T | None]]
    page: int = 250
    parse_metadata: Callable[[Raw], tuple[str, T | None]] | None = None

    @property
    def rule(self) -> Rule:
        return Rule(self.kinds[0].group, self.kinds[0].plural, ("list", "watch"))

    async def start(self) -> Start[T]:
        """List the objects of the first version that the server has. Raises ReadError."""
        for kind in self.kinds:
            try:
                return await self._listed(kind.path())
            except NotFoundError:
                continue
        return Start({})

    async def _listed(self, path: str) -> Start[T]:
        for _ in range(_EXPIRED - 1):
            with suppress(ExpiredError):
                return await self._pages(path)
        return await self._pages(path)

    async def _pages(self, path: str) -> Start[T]:
        objects: dict[str, T] = {}
        async with aclosing(pages(self.api, path, self.rule, self.page)) as listed:
            async for page in listed:
                parse = self.parse_metadata if page.unread else self.parse
                if parse is None:
                    raise ReadError(page.unread)
                try:
                    for at in range(0, len(page.items), _BATCH):
                        parsed = map(parse, page.items[at : at + _BATCH])
                        objects.update((name, value) for name, value in parsed if value is not None)
                        await next_turn()
                except UNDECODABLE as error:
                    raise ReadError(f"list of {path}: not a list of the API server: {error}") from None
        return Start(objects, path, version=page.version)


@dataclass(frozen=True, slots=True)
class Named(Generic[T]):
    """Reads one object by its name. Needs the rights to get and to watch it, and none to list.

    Its watch reports nothing about an object that is missing. So the object is read before each watch, every few
    minutes, and a deletion between the two is noticed then.
    """

    api: ApiServer
    kind: Kind
    namespace: str | None
    name: str
    parse: Callable[[Raw], tuple[str, T | None]]

    @property
    def rule(self) -> Rule:
        return Rule(self.kind.group, self.kind.plural, ("get", "watch"), self.name, self.namespace or "")

    async def start(self) -> Start[T]:
        path, query = self.kind.path(self.namespace), {"fieldSelector": f"metadata.name={self.name}"}
        try:
            body = await answer(self.api, self.kind.path(self.namespace, self.name), self.rule, "get")
            name, value = self.parse(Raw(body))
        except (NotFoundError, ExpiredError):
            return Start({}, path, query)
        except UNDECODABLE as error:
            raise ReadError(f"GET {path}/{self.name}: not an object of the API server: {error}") from None
        return Start({} if value is None else {name: value}, path, query)
