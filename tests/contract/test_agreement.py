"""Server and command line agree on every fixture and on every recorded review, over TLS."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.contract.answers import Answered, by_hook
from tests.contract.clients import Clients
from tests.contract.offline import DIFFER, NOT_SEARCHED, check, facts_of, path_of, review_of
from tests.fixture import Fixture, load_all
from tests.recorded import body, names
from tests.server.client import Client

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def hook(client: Client, path: str, asked: bytes) -> Answered:
    """The server's verdict about a review."""
    replied = await asyncio.to_thread(client.post, path, asked)
    assert replied.status == 200
    answered = by_hook(replied.json())
    # Only the final hook can detect missing edits.
    return answered.without("GPS019") if path == "/validate" else answered


@pytest.mark.exhaustive(every=6)
@pytest.mark.parametrize("fixture", load_all(), ids=lambda fixture: fixture.name)
async def test_fixture(fixture: Fixture, clients: Clients, tmp_path: Path) -> None:
    path = path_of(fixture)
    client = await clients(fixture.settings, fixture.facts)
    answered = await hook(client, path, json.dumps(review_of(fixture)).encode())
    checked = check(tmp_path, fixture.object, fixture.namespace, fixture.settings, facts_of(fixture))
    assert (answered == of_hook(checked, path)) is (fixture.name not in DIFFER), (answered, checked)


def of_hook(checked: Answered, path: str) -> Answered:
    """The command line's verdict without the patch, which the final hook never sends."""
    return checked.without_patch() if path == "/validate" else checked


@pytest.mark.parametrize("name", NOT_SEARCHED)
async def test_server_does_not_search(name: str, clients: Clients) -> None:
    """Even an object that the chart's rules do not send is allowed without a finding."""
    (fixture,) = (one for one in load_all() if one.name == name)
    client = await clients(fixture.settings, fixture.facts)
    answered = await hook(client, "/validate", json.dumps(review_of(fixture)).encode())
    assert answered == Answered(True, [], [], [], [])


async def test_exceptions_name_existing_fixtures() -> None:
    assert DIFFER.keys() <= {fixture.name for fixture in load_all()}


CREATED = [name for name in names() if json.loads(body(name))["request"]["operation"] == "CREATE"]


@pytest.mark.parametrize("name", CREATED)
async def test_recorded_review(name: str, clients: Clients, tmp_path: Path) -> None:
    request = json.loads(body(name))["request"]
    path = "/mutate" if request["kind"]["kind"] == "Pod" else "/validate"
    answered = await hook(await clients(None, None), path, body(name))
    checked = check(tmp_path, request["object"], request["namespace"], None, None)
    assert answered == of_hook(checked, path)
