"""Collections of a cluster, listed once and watched from then on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Protocol

from webhook.beside.pace import Backoff, moment

Object = dict[str, Any]
Contents = Mapping[str, Object]
"""The objects of a collection by name."""


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
                        # Usually 410: the server has forgotten this version, so everything is read anew.
                        raise CutError(f"watch of {path}: {event['object'].get('message', '')}")
                    contents = _after(contents, event)
                    version = event["object"]["metadata"]["resourceVersion"]
                    yield contents
        except OSError as error:
            raise CutError(str(error)) from None
        yield contents
        await again.wait_after(began)


async def _list(api: Api, path: str) -> tuple[Contents, str]:
    try:
        status, found = await api.request("GET", path)
    except OSError as error:
        raise LostError(str(error)) from None
    if status != 200:
        raise LostError(f"list of {path}: {status} {found.get('message', '')}".rstrip())
    return {item["metadata"]["name"]: item for item in found.get("items") or ()}, found["metadata"]["resourceVersion"]


def _after(contents: Contents, event: Object) -> Contents:
    """The collection after an event; the very same where nothing changed."""
    found = event["object"]
    match event["type"]:
        case "ADDED" | "MODIFIED":
            return {**contents, found["metadata"]["name"]: found}
        case "DELETED":
            return {name: item for name, item in contents.items() if name != found["metadata"]["name"]}
    return contents
