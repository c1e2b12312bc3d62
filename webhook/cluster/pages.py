"""Lists of the API server in pages, and what its refusals mean."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Final
from urllib.parse import urlencode

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import JSON, METADATA, UNDECODABLE, ApiServer, ResponseTooLargeError, Rule
from webhook.cluster.watch import FAILURES, ReadError, ResourceVersion
from webhook.policy.messages import printable


class ListMeta(Struct, rename="camel"):
    """The metadata of a list. `continue_` is empty in its last page."""

    resource_version: ResourceVersion
    continue_: str = msgspec.field(default="", name="continue")


class Page(Struct):
    """One page of a list. The items stay as they were received."""

    metadata: ListMeta
    items: list[Raw] | None = None


class Unread(Struct):
    """The place of an object in a list that cannot be read: its metadata as PartialObjectMetadata, and why."""

    metadata: ListMeta
    item: Raw
    why: str


class _Continued(Struct, frozen=True):
    """The metadata of a response with status 410: where the list continues with newer objects."""

    continue_: str = msgspec.field(default="", name="continue")


class _Expired(Struct):
    metadata: _Continued = _Continued()


_PAGES = msgspec.json.Decoder(Page)
_EXPIRED = msgspec.json.Decoder(_Expired)

_FACTOR: Final = 4
"""How much smaller a page is after a response that cannot be read, and how much larger after a small one."""

_SMALL: Final = 2 * 2**20
"""Bytes of a response after which a larger page fits as well."""


class ForbiddenError(ReadError):
    """The caller may not read this. The message names the missing rule."""


class NotFoundError(ReadError):
    """The server does not serve this path, or has no such object."""


class ExpiredError(ReadError):
    """The server no longer has the version that the pages of a list are taken from.

    `rest` is a token with which the list continues from the same place, with the objects of now; empty without one.
    """

    def __init__(self, message: str, rest: str) -> None:
        super().__init__(message)
        self.rest = rest


class _UndecodableError(Exception):
    """A response is no list that can be decoded. The message says why."""


async def pages(
    api: ApiServer, path: str, rule: Rule, size: int, query: Mapping[str, str] | None = None, rest: str = ""
) -> AsyncGenerator[Page | Unread, None]:
    """Yield the pages of a list, of `size` objects or fewer where these are too large. Raises ReadError.

    An object that cannot be read even alone, because it is too large or nested too deeply, costs itself: its metadata
    shows its name, and where the list continues. `rest` is a token to begin at.
    """
    limit = size
    while True:
        asked = {**(query or {}), "limit": str(limit)} | ({"continue": rest} if rest else {})
        url, what = f"{path}?{urlencode(asked)}", f"list of {path}"
        try:
            body = await answer(api, url, what, rule, "list")
            page = _decoded(body, what)
        except (ResponseTooLargeError, _UndecodableError) as error:
            if limit > 1:
                limit = max(1, limit // _FACTOR)
                continue
            try:
                page = _decoded(await answer(api, url, what, rule, "list", METADATA), what)
            except (ResponseTooLargeError, _UndecodableError):
                raise ReadError(str(error)) from None
            for item in page.items or ():
                yield Unread(page.metadata, item, str(error))
        else:
            yield page
            if len(body) < _SMALL:
                limit = min(size, limit * _FACTOR)
        if rest and rest == page.metadata.continue_:
            raise ReadError(f"{what}: it does not end")
        rest = page.metadata.continue_
        if not rest:
            return


async def latest_pages(
    api: ApiServer, path: str, rule: Rule, size: int, query: Mapping[str, str] | None = None
) -> AsyncGenerator[Page | Unread, None]:
    """Yield the pages of a list, the later ones with newer objects where its version expires. Raises ReadError.

    Each object comes once, since the list continues after the last one. A list that expires twice at one place fails.
    """
    rest = ""
    while True:
        goes_on = False
        try:
            async with aclosing(pages(api, path, rule, size, query, rest)) as listed:
                async for page in listed:
                    goes_on = True
                    yield page
        except ExpiredError as error:
            if not (goes_on and error.rest):
                raise
            rest = error.rest
        else:
            return


def _decoded(body: bytes, what: str) -> Page:
    """The page in a response. Raises _UndecodableError."""
    try:
        return _PAGES.decode(body)
    except UNDECODABLE as error:
        raise _UndecodableError(f"{what}: not a list of the API server: {error}") from None


async def answer(api: ApiServer, path: str, asked: str, rule: Rule, verb: str, accept: str = JSON) -> bytes:
    """The body of a response with status 200. Raises ReadError for any other, and ResponseTooLargeError."""
    try:
        status, body = await api.read(path, accept)
    except ResponseTooLargeError:
        raise
    except OSError as error:
        raise ReadError(str(error)) from None
    match status:
        case 200:
            return body
        case 403:
            raise ForbiddenError(rule.missing(verb))
        case 404:
            raise NotFoundError(f"{asked}: 404 not found")
        case 410:
            raise ExpiredError(f"{asked}: it expires before its last page is read", _rest(body))
    raise ReadError(f"{asked}: {status} {printable(_message(body))}".rstrip())


def _message(body: bytes) -> str:
    """The server's words about a failure; empty for a proxy's page."""
    try:
        return FAILURES.decode(body).message
    except UNDECODABLE:
        return ""


def _rest(body: bytes) -> str:
    """The token of a response with status 410 (kubernetes apiserver pkg/storage/etcd3 `interpretListError`)."""
    try:
        return _EXPIRED.decode(body).metadata.continue_
    except UNDECODABLE:
        return ""
