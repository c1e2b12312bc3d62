"""Lists of the API server in pages, and what its refusals mean."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from urllib.parse import urlencode

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import ApiServer, ResponseTooLargeError, Rule
from webhook.cluster.watch import FAILURES, UNDECODABLE, ReadError, ResourceVersion
from webhook.policy.messages import printable


class ListMeta(Struct, rename="camel"):
    """The metadata of a list. `continue_` is empty in its last page."""

    resource_version: ResourceVersion
    continue_: str = msgspec.field(default="", name="continue")


class Page(Struct):
    """One page of a list. The items stay as they were received."""

    metadata: ListMeta
    items: list[Raw] | None = None


_PAGES = msgspec.json.Decoder(Page)


class ForbiddenError(ReadError):
    """The caller may not read this. The message names the missing rule."""


class NotFoundError(ReadError):
    """The server does not serve this path, or has no such object."""


class ExpiredError(ReadError):
    """The server no longer has the version that the pages of a list are taken from."""


async def pages(
    api: ApiServer, path: str, rule: Rule, size: int, query: Mapping[str, str] | None = None
) -> AsyncGenerator[Page, None]:
    """Yield the pages of a list, of `size` objects or fewer where these are too large. Raises ReadError."""
    limit, rest = size, ""
    while True:
        asked = {**(query or {}), "limit": str(limit)} | ({"continue": rest} if rest else {})
        try:
            body = await answer(api, f"{path}?{urlencode(asked)}", f"list of {path}", rule, "list")
        except ResponseTooLargeError as error:
            if limit == 1:
                raise ReadError(str(error)) from None
            limit = max(1, limit // 4)
            continue
        try:
            page = _PAGES.decode(body)
        except UNDECODABLE as error:
            raise ReadError(f"list of {path}: not a list of the API server: {error}") from None
        yield page
        rest = page.metadata.continue_
        if not rest:
            return


async def answer(api: ApiServer, path: str, asked: str, rule: Rule, verb: str) -> bytes:
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
            raise ForbiddenError(rule.missing(verb))
        case 404:
            raise NotFoundError(f"{asked}: 404 not found")
        case 410:
            raise ExpiredError(f"{asked}: it expires before its last page is read")
    raise ReadError(f"{asked}: {status} {printable(_message(body))}".rstrip())


def _message(body: bytes) -> str:
    """The server's words about a failure; empty for a proxy's page."""
    try:
        return FAILURES.decode(body).message
    except UNDECODABLE:
        return ""
