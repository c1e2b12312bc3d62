"""Paths of requests: each segment is quoted, and a name that no object has leads nowhere."""

from __future__ import annotations

import pytest

from webhook.cluster.objects import CONFIG_MAP, NODE, Kind, LiveObjects, NotFoundError

ILLEGAL = ("..", ".", "a/b", "a?b", "a#b", "a%2fb", "a b", "A", "a\n", "-a", "a" * 254, "é")


def test_path_of_one_object() -> None:
    assert CONFIG_MAP.path("team-a", "web.1") == "/api/v1/namespaces/team-a/configmaps/web.1"
    assert NODE.path("team-a", "gpu-1") == "/api/v1/nodes/gpu-1"
    assert CONFIG_MAP.path() == "/api/v1/configmaps"


def test_segments_of_a_kind_are_quoted() -> None:
    assert Kind("a", "b/c", "d?e", "..%f").path() == "/apis/d%3Fe/..%25f/b%2Fc"


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_name_has_no_path(name: str) -> None:
    with pytest.raises(NotFoundError, match="is no legal name: must be an object's name"):
        CONFIG_MAP.path("team-a", name)
    with pytest.raises(NotFoundError, match="is no legal name: must be a namespace's name"):
        CONFIG_MAP.path(name, "web")


class Unasked:
    """An API server that nothing may ask."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(name)


@pytest.mark.parametrize("name", ILLEGAL)
async def test_object_of_illegal_name_does_not_exist(name: str) -> None:
    objects = LiveObjects(Unasked())  # type: ignore[arg-type]
    assert await objects.one(CONFIG_MAP, "team-a", name) is None
    assert await objects.one(CONFIG_MAP, name, "web") is None
    assert [page async for page in objects.pages(CONFIG_MAP, name)] == []
    assert objects.left_out == []
    assert await objects.log(name, "web", "main", previous=False) is None
    assert await objects.metrics("team-a", name, 8080) is None
