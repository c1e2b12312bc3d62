"""A server in a cluster, and when it is ready: a stand-in over real HTTPS answers for the API server."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.facts.fake_cluster import gpu_node
from tests.facts.server import Answer, standing_in
from tests.server.certificates import issue
from tests.server.client import Client, Reply
from tests.server.lines import PATIENCE, Lines, until
from tests.server.reviews import pod, review
from tests.server.within import client_of, configuration, restored_logging
from webhook.app import installed
from webhook.diagnostics import InputError
from webhook.policy.placement.cluster_objects import DevicePlugin, Node
from webhook.policy.placement.facts import Facts
from webhook.server.app import Server
from webhook.server.live_config import File
from webhook.server.log import EventLog

FACTS = "{nodes: true, namespaces: true, runtimeClasses: true, deviceClasses: true, devicePlugin: {version: v0.20.0}}"
SOURCES = ("nodes", "namespaces", "runtime classes", "device classes", "device plugin")


Serving = Callable[..., AbstractAsyncContextManager["Started"]]


@dataclass(slots=True)
class Rejecting:
    """An API server that rejects requests for nodes until `allowed` is set."""

    allowed: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        nodes = request.path == "/api/v1/nodes"
        if nodes and not self.allowed.is_set():
            return web.json_response({"message": "too many requests"}, status=429)
        items = [gpu_node() | {"metadata": {"name": "a"}}] if nodes else []
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})


@dataclass(frozen=True, slots=True)
class Started:
    """A server that has started, its log, and a client for it."""

    server: Server
    lines: Lines
    client: Client

    async def logged(self, *events: str) -> None:
        for event in events:
            await asyncio.to_thread(self.lines.event, event)

    async def get(self, path: str) -> Reply:
        return await asyncio.to_thread(self.client.health, path)

    async def metrics(self) -> str:
        return await asyncio.to_thread(self.client.metrics)

    async def allows_two(self) -> bool:
        """Whether a pod of two replicas is allowed."""
        replied = await asyncio.to_thread(self.client.review, "/mutate", review(pod(2)))
        return bool(replied.json()["response"]["allowed"])


@asynccontextmanager
async def started(folder: Path, facts: str, installed_as: str | None = None) -> AsyncIterator[Started]:
    """Start a server that follows these facts of a stand-in."""
    own = folder / "own"
    own.mkdir()
    certificates = issue(own)
    text = f"{{facts: {facts}, server: {{shutdownDelay: 0s}}}}"
    wanted = configuration(text, certificates)
    file = File(folder / "missing", lambda new: configuration(new.decode(), certificates), text.encode())
    reading, writing = os.pipe()
    lines = Lines(os.fdopen(reading, "rb"))
    log = EventLog("json", "info", writing)
    try:
        server = Server(wanted, Facts(), log, settings_file=file)
        async with installed(server, wanted, installed_as, None):
            with restored_logging():
                await server.startup()
                yield Started(server, lines, client_of(server, certificates))
                await server.shutdown()
    finally:
        await asyncio.to_thread(log.close)
        os.close(writing)


@pytest.fixture
def serving(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> Serving:
    """Starts a server whose stand-in answers so, for the time of a context."""

    @asynccontextmanager
    async def serve(answer: Answer, facts: str, installed_as: str | None = None) -> AsyncIterator[Started]:
        async with asyncio.timeout(PATIENCE), standing_in(cluster, answer) as stand_in:
            monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(stand_in.port))
            async with started(cluster, facts, installed_as) as server:
                yield server

    return serve


async def test_server_is_ready_after_reading_facts(serving: Serving) -> None:
    api = Rejecting()
    async with serving(api.answer, FACTS) as server:
        await server.logged("nodes cannot be read")
        unready, scraped = await server.get("/readyz?verbose"), await server.metrics()
        api.allowed.set()
        await server.logged(*(f"{source} read" for source in SOURCES))
        ready, scraped_later = await server.get("/readyz?verbose"), await server.metrics()
        known = server.server.live.evaluator.snapshot.facts
    assert unready.status == 503
    assert {"[-]not waiting for nodes", "[ ]facts: nodes: unknown, failing"} <= _lines(unready)
    assert _facts(scraped, "nodes") == {"age_seconds": -1, "objects": 0, "failing": 1}
    assert ready.status == 200
    assert {f"[+]not waiting for {source}" for source in SOURCES} <= _lines(ready)
    details = {line for line in _lines(ready) if re.match(r"\[ \]facts: [a-z ]+: ", line)}
    assert len(details) == len(SOURCES)
    assert any(re.fullmatch(r"\[ \]facts: nodes: 1 known, confirmed \d+ s ago(, failing)?", line) for line in details)
    assert _facts(scraped_later, "nodes")["objects"] == 1
    assert 0 <= _facts(scraped_later, "nodes")["age_seconds"] < PATIENCE
    assert _facts(scraped_later, "device-plugin") == {"age_seconds": 0, "objects": 0, "failing": 0}
    assert known.nodes == (Node("a", {}, (), {"nvidia.com/gpu": 4}),)
    assert (known.namespaces, known.runtime_classes, known.device_classes) == ((), (), ())
    assert known.device_plugin == DevicePlugin(version="v0.20.0")


def _lines(answered: Reply) -> set[str]:
    return set(answered.body.decode().splitlines())


def _facts(exposition: str, source: str) -> dict[str, float]:
    """The metrics of one source of facts."""
    found = re.findall(rf'^gpushare_webhook_facts_(\w+){{source="{source}"}} (\S+)$', exposition, re.M)
    return {name: float(value) for name, value in found}


@pytest.mark.parametrize(
    ("facts", "warned"), [("{deviceClasses: true}", True), ("{deviceClasses: true, nodes: true}", False)]
)
async def test_device_classes_without_nodes_are_warned_of_at_start(
    serving: Serving, facts: str, *, warned: bool
) -> None:
    api = Rejecting()
    api.allowed.set()
    async with serving(api.answer, facts) as server:
        await server.logged("device classes read")
        events = [json.loads(line)["event"] for line in server.lines.so_far()]
    assert ("facts.deviceClasses without facts.nodes" in events) is warned


@dataclass(slots=True)
class Installation:
    """An API server with the objects of the installation, which answers once `answering` is set.

    `changes` are the states that the watch of each resource sends.
    """

    changes: dict[str, asyncio.Queue[bytes]] = field(
        default_factory=lambda: {"configmaps": asyncio.Queue(), "serviceaccounts": asyncio.Queue()}
    )
    answering: asyncio.Event = field(default_factory=asyncio.Event)
    status: int = 200

    async def answer(self, request: web.Request) -> web.StreamResponse:
        resource = next((one for one in self.changes if one in request.path), None)
        if resource is None:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})
        await self.answering.wait()
        if "watch" not in request.query:
            found = _config_map("mode: enforce") if resource == "configmaps" else _account("off")
            return web.json_response(found, status=self.status)
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(await self.changes[resource].get() + b"\n")

    def change(self, text: str, mode: str | None) -> None:
        for resource, found in (("serviceaccounts", _account(mode)), ("configmaps", _config_map(text))):
            self.changes[resource].put_nowait(json.dumps({"type": "MODIFIED", "object": found}).encode())


def _config_map(text: str) -> dict[str, Any]:
    return {"metadata": {"name": "webhook", "resourceVersion": "1"}, "data": {"settings.yaml": text}}


def _account(mode: str | None) -> dict[str, Any]:
    annotations = {} if mode is None else {"gpushare-webhook/mode": mode}
    return {"metadata": {"name": "webhook-mode", "resourceVersion": "1", "annotations": annotations}}


ONE_FACT = "{runtimeClasses: true}"


async def test_server_is_ready_with_the_cap_and_follows_installation(serving: Serving) -> None:
    api = Installation()
    async with serving(api.answer, ONE_FACT, "gpus/webhook") as server:
        await server.logged("runtime classes read")
        waiting = await server.get("/readyz?verbose")
        api.answering.set()
        await server.logged("mode capped")
        await asyncio.to_thread(until, lambda: server.client.health("/readyz").status == 200)
        capped, allowed = await server.get("/readyz?verbose"), await server.allows_two()
        api.change("mode: [", "warn")
        await server.logged("reload rejected")
        warned = await server.get("/readyz?verbose")
        api.change("mode: enforce", None)
        await server.logged("mode no longer capped")
        denied = not await server.allows_two()
    assert {"[-]not waiting for settings", "[-]not waiting for mode", "[ ]settings are from: the file"} <= _lines(
        waiting
    )
    assert "[ ]settings are from: ConfigMap gpus/webhook" in _lines(capped)
    assert "mode capped to off" in capped.body.decode()
    assert "mode capped to warn" in warned.body.decode()
    assert (allowed, denied) == (True, True)


async def test_forbidden_installation_does_not_keep_server_unready(serving: Serving) -> None:
    api = Installation(status=403)
    api.answering.set()
    async with serving(api.answer, ONE_FACT, "gpus/webhook") as server:
        await server.logged("installed settings cannot be read", "runtime classes read")
        await asyncio.to_thread(until, lambda: server.client.health("/readyz").status == 200)
        shown = await server.get("/readyz?verbose")
    assert "[ ]settings are from: the file, failing" in _lines(shown)


async def test_nothing_is_followed_without_name_of_installation(serving: Serving) -> None:
    api = Installation()
    async with serving(api.answer, ONE_FACT) as server:
        await server.logged("runtime classes read")
        await asyncio.to_thread(until, lambda: server.client.health("/readyz").status == 200)
        shown = await server.get("/readyz?verbose")
    assert "settings are from" not in shown.body.decode()


@pytest.mark.parametrize("name", ["webhook", "/webhook", "gpus/", ""])
async def test_malformed_name_of_installation_is_an_error(
    cluster: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    with pytest.raises(InputError, match="--installed-as must be NAMESPACE/NAME"):
        async with started(cluster, ONE_FACT, name):
            raise AssertionError("it starts")
