"""Collections of a cluster, listed once and watched from then on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Protocol

from msgspec import Struct, ValidationError, convert

from webhook.policy.printable import printable
from webhook.runtime.retry import Backoff, moment

Object = dict[str, Any]
_CHANGES = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")
"""The types of events that mean something here. Others are ignored: a later API server may send more."""

Contents = Mapping[str, Object]
"""The objects of a collection by name."""


class _Version(Struct, rename="camel"):
    resource_version: str


class _Versioned(Struct):
    metadata: _Version


class _Name(Struct):
    name: str


class _Item(Struct):
    metadata: _Name


class _Collection(_Versioned):
    items: list[Object] | None = None

    @property
    def version(self) -> str:
        return self.metadata.resource_version


class Api(Protocol):
    """What is needed of an API server."""

    async def request(self, method: str, path: str) -> tuple[int, Object]:
        """The status and the object of an answer. Raises OSError where there is none."""

    def events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[Object, None]:
        """The events of one watch, until the server ends it. Raises OSError."""


class LostError(Exception):
    """A collection cannot be read for now. The message says why."""


class CutError(Exception):
    """A collection was read, and cannot be watched on from there. The message says why."""


async def follow(api: Api, path: str) -> AsyncGenerator[Contents, None]:
    """The objects of a collection without a namespace: at first, after each change, and whenever known to be the same.

    Ends with LostError or CutError; what was yielded is then the last that is known.
    """
    again = Backoff(1.0)
    contents, version = await _list(api, path)
    yield contents
    while True:
        began = moment()
        query = {"resourceVersion": version, "allowWatchBookmarks": "true"}
        try:
            async with aclosing(api.events(path, query)) as events:
                async for event in events:
                    if event["type"] == "ERROR":
                        # Usually 410: the server has forgotten this version, so the collection is listed again.
                        raise CutError(f"watch of {path}: {printable(event['object'].get('message', ''))}")
                    if event["type"] in _CHANGES:
                        contents, version = _after(contents, event)
                    yield contents
        except OSError as error:
            raise CutError(str(error)) from None
        except ValidationError as error:
            raise CutError(f"watch of {path}: not an event of the API server: {error}") from None
        yield contents
        await again.wait_after(began)


async def _list(api: Api, path: str) -> tuple[Contents, str]:
    try:
        status, found = await api.request("GET", path)
    except OSError as error:
        raise LostError(str(error)) from None
    if status != 200:
        raise LostError(f"list of {path}: {status} {printable(found.get('message', ''))}".rstrip())
    try:
        collection = convert(found, _Collection)
        return {convert(item, _Item).metadata.name: item for item in collection.items or ()}, collection.version
    except ValidationError as error:
        raise LostError(f"list of {path}: not a list of the API server: {error}") from None


def _after(contents: Contents, event: Object) -> tuple[Contents, str]:
    """The collection after an event, and its version; the very same where nothing changed."""
    found = event["object"]
    version = convert(found, _Versioned).metadata.resource_version
    if event["type"] == "BOOKMARK":
        return contents, version
    changed = convert(found, _Item).metadata.name
    others = {name: item for name, item in contents.items() if name != changed}
    return others if event["type"] == "DELETED" else {**others, changed: found}, version
