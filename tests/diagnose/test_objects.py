"""Lists of a live cluster whose pages are large, expire or cannot be decoded; the API server is a stub."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from webhook.cluster.api_server import METADATA, ResponseTooLargeError, WatchEvent
from webhook.cluster.objects import POD, LiveObjects

LARGEST = 16 * 2**20


def pod(name: str, rest: bytes = b"{}") -> bytes:
    return b'{"metadata":{"name":"%s","namespace":"a"},"spec":%s}' % (name.encode(), rest)


class Api:
    """The API server. `served` holds pods in JSON; a token is the place of the next. `gone` counts 410s by place."""

    def __init__(self, served: list[bytes], gone: Mapping[int, int] | None = None, *, gives_token: bool = True) -> None:
        self._served = served
        self._gone = dict(gone or {})
        self._gives_token = gives_token
        self.limits: list[int] = []
        self.bytes = 0

    async def read(self, path: str, accept: str = "") -> tuple[int, bytes]:
        query = {key: int(values[0]) for key, values in parse_qs(urlsplit(path).query).items()}
        start, limit = query.get("continue", 0), query["limit"]
        self.limits.append(limit)
        if self._gone.get(start):
            self._gone[start] -= 1
            return 410, json.dumps({"metadata": {"continue": str(start)} if self._gives_token else {}}).encode()
        items = self._served[start : start + limit]
        if accept == METADATA:
            items = [one.partition(b',"spec"')[0] + b"}" for one in items]
        rest = b'"%d"' % (start + limit) if start + limit < len(self._served) else b'""'
        body = b'{"metadata":{"resourceVersion":"1","continue":%s},"items":[%s]}' % (rest, b",".join(items))
        self.bytes += min(len(body), LARGEST)
        if len(body) > LARGEST:
            raise ResponseTooLargeError(f"GET {path}: the answer is larger than {LARGEST} bytes")
        return 200, body

    async def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        raise NotImplementedError

    def events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[WatchEvent, None]:
        raise NotImplementedError


async def names(objects: LiveObjects) -> list[str]:
    return [one["metadata"]["name"] async for page in objects.pages(POD) for one in page]


LARGE = json.dumps({"x": "x" * 1_400_000}).encode()
NESTED = b'{"a":' * 5000 + b"{}" + b"}" * 5000


async def test_large_pods_before_many_small_ones_cost_few_requests() -> None:
    api = Api([*(pod(f"large-{number}", LARGE) for number in range(24)), *(pod(f"p{at}") for at in range(5000))])
    objects = LiveObjects(api)
    assert len(await names(objects)) == 5024
    assert objects.left_out == []
    assert len(api.limits) < 40
    assert max(api.limits[-5:]) == 500


async def test_large_pods_between_small_ones_cost_time_that_grows_with_their_size() -> None:
    api = Api([pod(f"p{at}", LARGE if at % 100 == 0 else b"{}") for at in range(5000)])
    objects = LiveObjects(api)
    assert len(await names(objects)) == 5000
    assert api.bytes < 4 * 50 * len(LARGE)


@pytest.mark.parametrize(
    ("rest", "why"), [(b'"' + b"x" * LARGEST + b'"', f"is larger than {LARGEST} bytes"), (NESTED, "recursion")]
)
@pytest.mark.parametrize("at", [0, 700, 1199])
async def test_object_that_cannot_be_read_costs_itself_alone(at: int, rest: bytes, why: str) -> None:
    served = [pod(f"p{number}") for number in range(1200)]
    served[at] = pod("bad", rest)
    objects = LiveObjects(Api(served))
    assert await names(objects) == [f"p{number}" for number in range(1200) if number != at]
    (left_out,) = objects.left_out
    assert (left_out.what, left_out.matters) == ("pod a/bad", True)
    assert why in left_out.why
    assert (objects.lacks(POD), objects.has_all(POD), objects.hides(POD, "a", "bad")) == (False, False, True)


async def test_list_without_end_breaks_off() -> None:
    class Endless(Api):
        async def read(self, path: str, accept: str = "") -> tuple[int, bytes]:  # noqa: ARG002 - as above
            self.limits.append(0)
            return 200, b'{"metadata":{"resourceVersion":"1","continue":"x"},"items":[' + pod("p") + b"]}"

    api = Endless([])
    objects = LiveObjects(api)
    assert await names(objects) == ["p", "p"]
    assert objects.left_out[0].why == "list of /api/v1/pods: it does not end"
    assert len(api.limits) == 2


async def test_list_that_expires_at_several_places_goes_on_without_repeating_objects() -> None:
    objects = LiveObjects(Api([pod(f"p{number}") for number in range(1800)], {500: 1, 1000: 1, 1500: 1}))
    assert await names(objects) == [f"p{number}" for number in range(1800)]
    assert objects.left_out == []


@pytest.mark.parametrize(("times", "gives_token"), [(2, True), (1, False)])
async def test_list_that_expires_twice_or_gives_no_token_breaks_off(times: int, gives_token: bool) -> None:
    objects = LiveObjects(Api([pod(f"p{number}") for number in range(1800)], {1000: times}, gives_token=gives_token))
    assert len(await names(objects)) == 1000
    (left_out,) = objects.left_out
    assert left_out.what == "pods in all namespaces"
    assert (objects.lacks(POD), objects.has_all(POD)) == (True, False)
