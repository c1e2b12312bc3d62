"""A server in a cluster, and when it is ready: a stand-in over real HTTPS answers for the API server."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from aiohttp import web

from tests.facts.server import standing_in
from tests.server.certificates import issue
from tests.server.lines import PATIENCE, Lines
from tests.server.within import client_of, configuration, restored_logging
from webhook.app import InstallationOptions, installed
from webhook.policy.placement.facts import Facts
from webhook.server import Server
from webhook.server.observe.log import EventLog

CONDITION = "not waiting for runtime classes"


async def test_server_is_ready_after_reading_runtime_classes(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused, allowed = asyncio.Event(), asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if not allowed.is_set():
            refused.set()
            return web.json_response({"message": "too many requests"}, status=429)
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})

    own = cluster / "own"
    own.mkdir()
    certificates = issue(own)
    wanted = configuration("{facts: {runtimeClasses: true}, server: {shutdownDelay: 0s}}", certificates)
    reading, writing = os.pipe()
    lines = Lines(os.fdopen(reading, "rb"))
    log = EventLog("json", "info", writing)
    try:
        async with asyncio.timeout(PATIENCE), standing_in(cluster, answer) as stand_in:
            monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(stand_in.port))
            server = Server(wanted, Facts(), log)
            async with installed(server, wanted, InstallationOptions(None, None)):
                with restored_logging():
                    await server.startup()
                    client = client_of(server, certificates)
                    await refused.wait()
                    answered = await asyncio.to_thread(client.health, "/readyz?verbose")
                    assert (answered.status, f"[-]{CONDITION}" in answered.body.decode()) == (503, True)
                    allowed.set()
                    await asyncio.to_thread(lines.event, "runtime classes read")
                    answered = await asyncio.to_thread(client.health, "/readyz?verbose")
                    assert (answered.status, f"[+]{CONDITION}" in answered.body.decode()) == (200, True)
                    await server.shutdown()
    finally:
        await asyncio.to_thread(log.close)
        os.close(writing)
