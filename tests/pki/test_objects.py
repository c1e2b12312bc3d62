"""The objects of an installation, read and written; and the fake API server, compared with a real one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from tests.pki import manners
from tests.pki.fake_api import Client, FakeApi
from tests.pki.virtual import virtual
from tests.pki.world import MUTATING, OURS, SECRET, VALIDATING
from webhook.cluster.api_server import StatusError
from webhook.pki import Authority
from webhook.pki.authorities import Authorities
from webhook.pki.objects import ClusterState, ConflictError, Objects

pytestmark = virtual

BUNDLE = b"bundle"
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def served() -> tuple[FakeApi, Client, Objects]:
    """An API server with the configurations and the Deployment of an installation."""
    api = FakeApi(Random(0))  # noqa: S311
    api.put(OURS.deployment, {"metadata": {"name": OURS.name}})
    for path in (MUTATING, VALIDATING):
        api.put(path, {"metadata": {}, "webhooks": [{"name": "a.example.com", "clientConfig": {}}]})
    client = Client(api)
    return api, client, Objects(OURS, client)


async def published(objects: Objects, state: ClusterState, wanted: bytes) -> list[str]:
    """The configurations that a publication wrote."""
    return [path async for path in objects.publish(state, wanted)]


def bundle(api: FakeApi, path: str) -> Any:
    return api.objects[path]["webhooks"][0]["clientConfig"].get("caBundle")


async def test_fake_api_server_answers_like_real_one() -> None:
    """`tests/cluster/test_rotation_api.py` asks a real one."""
    assert await manners.ask(Client(FakeApi(Random(0)))) == manners.ANSWERS  # noqa: S311


async def test_secret_is_read_last() -> None:
    """Otherwise a successor could be published between the two reads, and look foreign."""
    _, client, objects = served()
    await objects.read()
    assert client.requests == [("GET", MUTATING), ("GET", VALIDATING), ("GET", SECRET)]


async def test_missing_objects_are_no_error() -> None:
    api, _, objects = served()
    api.delete(MUTATING)
    state = await objects.read()
    assert state.secret is None
    assert [found.path for found in state.configurations] == [VALIDATING]
    assert state.authorities == Authorities()


async def test_secret_is_parsed_once_per_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading an authority signs a probe certificate, so it must not happen on each access."""
    _, _, objects = served()
    await objects.store(await objects.read(), Authorities(Authority.create("guard", NOW, timedelta(days=1))))
    parsed: list[bytes] = []
    read = Authority.read

    def counted(certificate: bytes, key: bytes) -> Authority:
        parsed.append(key)
        return read(certificate, key)

    monkeypatch.setattr(Authority, "read", counted)
    state = await objects.read()
    for _ in range(3):
        assert state.authorities.current is not None
    assert len(parsed) == 1


async def test_error_response_names_request() -> None:
    api, _, objects = served()
    api.forbidden = {("GET", MUTATING)}
    with pytest.raises(StatusError, match=f"^GET {MUTATING}: 403 forbidden$") as refused:
        await objects.read()
    assert refused.value.status == 403


async def test_second_writer_gets_conflict() -> None:
    _, _, objects = served()
    state = await objects.read()
    await objects.store(state, Authorities())
    with pytest.raises(ConflictError, match=f"^POST {OURS.secrets}: 409 already exists$"):
        await objects.store(state, Authorities())
    state = await objects.read()
    await objects.store(state, Authorities())
    with pytest.raises(ConflictError, match=f"^PUT {SECRET}: 409 "):
        await objects.store(state, Authorities())
    await published(objects, state, BUNDLE)
    with pytest.raises(ConflictError, match=f"^PATCH {VALIDATING}: 422 "):
        await published(objects, state, BUNDLE + BUNDLE)


async def test_publish_skips_configurations_with_same_bundle() -> None:
    _, client, objects = served()
    assert await published(objects, await objects.read(), BUNDLE) == [VALIDATING, MUTATING]
    client.requests.clear()
    assert await published(objects, await objects.read(), BUNDLE) == []
    assert {method for method, _ in client.requests} == {"GET"}


@pytest.mark.parametrize("failing", [MUTATING, VALIDATING])
async def test_publish_writes_mutating_configuration_after_validating_one(failing: str) -> None:
    api, _, objects = served()
    api.forbidden = {("PATCH", failing)}
    writes = objects.publish(await objects.read(), BUNDLE)
    if failing == MUTATING:
        assert await anext(writes) == VALIDATING
        assert bundle(api, VALIDATING) == "YnVuZGxl"
    with pytest.raises(StatusError, match=f"^PATCH {failing}: 403"):
        await anext(writes)
    assert bundle(api, MUTATING) is None


VERSION = {"metadata": {"resourceVersion": "1"}}


@pytest.mark.parametrize(
    ("path", "answer", "why"),
    [
        (SECRET, {}, "Object missing required field `metadata`"),
        (SECRET, {**VERSION, "data": "hunter2"}, r"Expected `object \| null`, got `str` - at `\$.data`"),
        (SECRET, {**VERSION, "data": {"ca.key": 7}}, r"Expected `str`, got `int` - at `\$.data"),
        (SECRET, {"metadata": {"resourceVersion": "1", "annotations": {"hunter2": 7}}}, "Expected `str`, got `int`"),
        (MUTATING, {"metadata": {}}, "Object missing required field `resourceVersion`"),
        (MUTATING, {**VERSION, "webhooks": [{}]}, "Object missing required field `name`"),
        (VALIDATING, {**VERSION, "webhooks": [{"name": "a", "clientConfig": {"caBundle": 7}}]}, "Expected `str"),
        (VALIDATING, {**VERSION, "webhooks": {}}, r"Expected `array \| null`, got `object`"),
        (OURS.deployment, {"metadata": {"name": "guard"}}, "Object missing required field `uid`"),
    ],
)
async def test_response_of_wrong_shape_is_connection_error(path: str, answer: dict[str, Any], why: str) -> None:
    """Not a KeyError, which would stop a keeper: a proxy may answer in place of the API server."""
    _, client, objects = served()
    ask = client.request

    async def request(method: str, asked: str, body: Any = None) -> Any:
        return (200, answer) if asked == path else await ask(method, asked, body)

    client.request = request  # type: ignore[method-assign, assignment]
    with pytest.raises(ConnectionError, match=f"^GET {path}: not an object of the API server: {why}") as error:
        await objects.store(await objects.read(), Authorities())
    assert "hunter2" not in str(error.value)


async def test_error_message_is_printable_and_short() -> None:
    _, client, objects = served()

    async def request(*_: Any) -> Any:
        return 403, {"message": "\x1b[31m\n::error::" + "m" * 100_000}

    client.request = request  # type: ignore[method-assign, assignment]
    with pytest.raises(StatusError) as error:
        await objects.read()
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 600


async def test_recreated_secret_keeps_metadata_and_has_owner() -> None:
    api, _, objects = served()
    metadata = {"name": OURS.secret, "labels": {"chart": "ours"}, "annotations": {"theirs": "1"}}
    api.put(SECRET, {"metadata": metadata, "data": {"ca.key": "a2V5"}})
    await objects.read()
    assert "a2V5" not in repr(vars(objects)), "no key outlives the Secret"
    api.delete(SECRET)
    await objects.store(await objects.read(), Authorities())
    made = api.objects[SECRET]
    assert (made["kind"], made["type"]) == ("Secret", "Opaque")
    assert made["metadata"]["labels"] == {"chart": "ours"}
    assert made["metadata"]["annotations"] == {"theirs": "1"}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "guard", "uid": "uid-1"}
    assert made["metadata"]["ownerReferences"] == [owner]
