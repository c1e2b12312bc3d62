"""Server and command line agree on every fixture and on every recorded review, over TLS."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.contract.answers import Answered, by_hook
from tests.contract.offline import DIFFER, NOT_SEARCHED, check, review_of
from tests.fixture import HOOKS, Fixture, Json, load_all
from tests.recorded import body, names
from tests.server.certificates import issue
from tests.server.client import Client
from tests.server.within import client_of, configuration, started
from webhook.server.observe.log import EventLog

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENFORCE = "pod-security.kubernetes.io/enforce"

Clients = Callable[[Json | None, Json | None], Coroutine[Any, Any, Client]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clients]:
    """Gives a client of a server with these settings and facts; servers stay for the fixtures that share them."""
    certificates = issue(tmp_path_factory.mktemp("certificates"))
    ready: dict[str, Client] = {}
    async with AsyncExitStack() as stack:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, nowhere)

        async def client(settings: Json | None, facts: Json | None) -> Client:
            key = json.dumps([settings, facts], sort_keys=True)
            if key not in ready:
                wanted = configuration(json.dumps(settings), certificates)
                server = started(wanted, EventLog("json", "error", nowhere), json.dumps(facts))
                ready[key] = client_of(await stack.enter_async_context(server), certificates)
            return ready[key]

        yield client


def path_of(fixture: Fixture) -> str:
    """The hook that a cluster calls for an object: the chart selects by kind and by the namespace's label."""
    hook = HOOKS[fixture.hook]
    if hook is not None:
        return hook.path
    if not fixture.is_pod:
        return "/validate"
    return "/mutate" if level_of(fixture) == "privileged" else "/mutate/without-hostpath"


def level_of(fixture: Fixture) -> str:
    """The Pod Security level of the namespace, as far as the fixture knows it."""
    unlabelled = (fixture.settings or {}).get("podSecurity", {}).get("unlabelled", "privileged")
    known = (fixture.facts or {}).get("namespaces") or ()
    labels: dict[str, str] = next((one.get("labels", {}) for one in known if one["name"] == fixture.namespace), {})
    return labels.get(ENFORCE, str(unlabelled))


def facts_of(fixture: Fixture) -> Json | None:
    """The facts for the command line, with the namespace's label in place of the hook's path."""
    if fixture.hook != "mutate-without-hostpath":
        return fixture.facts
    facts = fixture.facts or {"apiVersion": "gpushare-webhook/v1", "kind": "Facts"}
    labelled = {"name": fixture.namespace, "labels": {ENFORCE: "baseline"}}
    return {**facts, "namespaces": [*facts.get("namespaces", []), labelled]}


async def hook(client: Client, path: str, asked: bytes) -> Answered:
    """The server's verdict about a review."""
    replied = await asyncio.to_thread(client.post, path, asked)
    assert replied.status == 200
    answered = by_hook(replied.json())
    # Only the final hook can detect missing edits.
    return answered.without("GPS019") if path == "/validate" else answered


@pytest.mark.parametrize("fixture", load_all(), ids=lambda fixture: fixture.name)
async def test_fixture(fixture: Fixture, clients: Clients, tmp_path: Path) -> None:
    path = path_of(fixture)
    client = await clients(fixture.settings, fixture.facts)
    answered = await hook(client, path, json.dumps(review_of(fixture)).encode())
    checked = check(tmp_path, fixture.object, fixture.namespace, fixture.settings, facts_of(fixture))
    assert (answered == of_hook(checked, path)) is (fixture.name not in DIFFER), (answered, checked)


def of_hook(checked: Answered, path: str) -> Answered:
    """The command line's verdict without the patch, which the final hook never sends."""
    return replace(checked, patch=[]) if path == "/validate" else checked


@pytest.mark.parametrize("name", NOT_SEARCHED)
async def test_server_does_not_search(name: str, clients: Clients) -> None:
    """Even an object that the chart's rules do not send is allowed without a finding."""
    (fixture,) = (one for one in load_all() if one.name == name)
    client = await clients(fixture.settings, fixture.facts)
    answered = await hook(client, "/validate", json.dumps(review_of(fixture)).encode())
    assert answered == Answered(True, [], [], [], [], [])


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
