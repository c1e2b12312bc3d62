"""Servers with the settings and facts of fixtures, over TLS."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from tests.contract.clients import Clients
from tests.fixture import Json
from tests.server.certificates import Certificates, issue
from tests.server.client import Client
from tests.server.within import client_of, configuration, started
from webhook.server.log import EventLog


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue(tmp_path_factory.mktemp("certificates"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(certificates: Certificates) -> AsyncIterator[Clients]:
    """Gives a client of a server with these settings and facts; servers stay for the fixtures that share them."""
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
