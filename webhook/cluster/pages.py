"""Lists of the API server in pages, and what its refusals mean."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Annotated, Final, NamedTuple, TypeAlias
from urllib.parse import urlencode

import msgspec
from msgspec import Meta, Raw, Struct

from webhook.cluster.api_server import JSON, METADATA, UNDECODABLE, ApiServer, ResponseTooLargeError, Rule
from webhook.policy.messages import printable

ResourceVersion: TypeAlias = Annotated[str, Meta(min_length=1)]
"""Where a watch resumes. A watch from an empty version would start over, and miss deletions."""


class Page(NamedTuple):
    """Objects of a list, as they were received, and the version of the list.

    `unread` says why an object cannot be read; the items are then its metadata alone, as PartialObjectMetadata.
    """

    version: str
    items: Sequence[Raw]
    unread: str = ""


class _ListMeta(Struct, rename="camel"):
    resource_version: ResourceVersion
    continue_: str = msgspec.field(default="", name="continue")


class _List(Struct):
    metadata: _ListMeta
    items: list[Raw] | None = None


class _Continued(Struct, frozen=True):
    continue_: str = msgspec.field(default="", name="continue")


class Failure(Struct):
    """What the API server says about a failure. With status 410, the metadata tells where the list continues."""

    message: str = ""
    metadata: _Continued | None = None


_LISTS = msgspec.json.Decoder(_List)
FAILURES = msgspec.json.Decoder(Failure)

_FACTOR: Final = 4
"""How much smaller a page is after a response that cannot be read, and how much larger after a small one."""

_SMALL: Final = 2 * 2**20
"""Bytes of a response after which a larger page fits as well."""


class ReadError(Exception):
    """The objects cannot be read now. The message says why."""


class ForbiddenError(ReadError):
    """The caller may not read this. The message names the missing rule."""


class NotFoundError(ReadError):
    """The server does not serve this path, or has no such object."""


class UnreadableError(ReadError):
    """A response is too large, or is not the JSON of its kind."""


class ExpiredError(ReadError):
    """The server no longer has the version that the pages of a list are taken from.

    `rest` is a token with which the list continues from the same place, with the objects of now; empty without one.
    """

    def __init__(self, message: str, rest: str) -> None:
        super().__init__(message)
        self.rest = rest


async def pages(
    api: ApiServer, path: str, rule: Rule, size: int, query: Mapping[str, str] | None = None, *, continues: bool = False
) -> AsyncGenerator[Page, None]:
    """Yield the pages of a list, of `size` objects or fewer where these are too large. Raises ReadError.

    An object that cannot be read even alone, because it is too large or nested too deeply, costs itself: its metadata
    shows its name, and where the list continues.

    `continues`: where the version of the list expires, the later pages have newer objects. Each object comes once,
    since the list continues after the last one. A list that expires twice at one place fails.
    """
    limit, rest, is_new = size, "", False
    while True:
        asked = {**(query or {}), "limit": str(limit)} | ({"continue": rest} if rest else {})
        url, unread = f"{path}?{urlencode(asked)}", ""
        try:
            found, length = await _list(api, url, rule)
        except UnreadableError as error:
            if limit > 1:
                limit = max(1, limit // _FACTOR)
                continue
            unread = str(error)
            found, length = await _list(api, url, rule, METADATA)
        except ExpiredError as error:
            if not (continues and is_new and error.rest):
                raise
            rest, is_new = error.rest, False
            continue
        yield Page(found.metadata.resource_version, found.items or (), unread)
        if length < _SMALL and not unread:
            limit = min(size, limit * _FACTOR)
        if rest and rest == found.metadata.continue_:
            raise ReadError(f"list of {path}: it does not end")
        rest, is_new = found.metadata.continue_, True
        if not rest:
            return


async def _list(api: ApiServer, url: str, rule: Rule, accept: str = JSON) -> tuple[_List, int]:
    """One page, and its size in bytes."""
    body = await answer(api, url, rule, "list", accept)
    try:
        return _LISTS.decode(body), len(body)
    except UNDECODABLE as error:
        raise UnreadableError(f"{_asked(url, 'list')}: not a list of the API server: {error}") from None


async def answer(api: ApiServer, path: str, rule: Rule | None, verb: str, accept: str = JSON) -> bytes:
    """The body of a response with status 200. Raises ReadError for any other."""
    try:
        status, body = await api.read(path, accept)
    except ResponseTooLargeError as error:
        raise UnreadableError(str(error)) from None
    except OSError as error:
        raise ReadError(str(error)) from None
    if status == 200:
        return body
    asked, said = _asked(path, verb), _said(body)
    match status:
        case 403 if rule is not None:
            raise ForbiddenError(rule.missing(verb))
        case 404:
            raise NotFoundError(f"{asked}: 404 not found")
        case 410:
            rest = "" if said.metadata is None else said.metadata.continue_
            raise ExpiredError(f"{asked}: it expires before its last page is read", rest)
    raise ReadError(f"{asked}: {status} {printable(said.message)}".rstrip())


def _asked(path: str, verb: str) -> str:
    """The name of a request in messages."""
    return f"{'list of' if verb == 'list' else 'GET'} {path.partition('?')[0]}"


def _said(body: bytes) -> Failure:
    """The server's words about a failure; empty for a proxy's page.

    The token of a response with status 410 is that of kubernetes apiserver pkg/storage/etcd3 `interpretListError`.
    """
    try:
        return FAILURES.decode(body)
    except UNDECODABLE:
        return Failure()
