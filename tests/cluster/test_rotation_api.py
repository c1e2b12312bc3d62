"""The behaviour of a real API server that certificates and facts depend on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.waiting import wait_for
from tests.cluster.keepers import install
from tests.pki import manners
from webhook.cluster.client import connect
from webhook.cluster.runtime_classes import PATH, Classes, RuntimeClasses
from webhook.policy.placement.facts import RuntimeClass

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

PATIENCE = 60


@pytest.fixture(scope="module")
def running(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    """A control plane that this process can reach."""
    with control_plane(place=Loopback) as made:
        yield made


def test_real_api_server_answers_like_the_fake(running: ControlPlaneOnly) -> None:
    async def ask() -> dict[str, Any]:
        api = await connect(str(running.control.kubeconfigs["admin"]))
        try:
            return await manners.ask(api)
        finally:
            await api.close()

    assert asyncio.run(ask()) == manners.ANSWERS


def test_runtime_classes_are_watched_with_rights_of_chart(running: ControlPlaneOnly) -> None:
    kubeconfig = install(running)
    seen: list[Classes] = []
    scheduling = {"nodeSelector": {"gpu": "yes"}}
    nvidia = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}

    async def until(count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            await asyncio.to_thread(wait_for, f"{count} states", lambda: len(seen) == count)

    async def change(what: Callable[[], object]) -> None:
        await asyncio.to_thread(what)

    async def watch() -> None:
        api = await connect(str(kubeconfig))
        classes = RuntimeClasses(api, seen.append, lambda *_, **__: None)
        task = asyncio.create_task(classes.run())
        await until(1)
        await change(lambda: running.api.create(PATH, {**nvidia, "handler": "nvidia", "scheduling": scheduling}))
        await until(2)
        await change(lambda: running.api.patch(f"{PATH}/nvidia", {"metadata": {"labels": {"a": "b"}}}))
        await change(lambda: running.api.delete(f"{PATH}/nvidia"))
        await until(3)
        task.cancel()
        await asyncio.wait([task])
        await api.close()

    asyncio.run(watch())
    assert seen == [(), (RuntimeClass("nvidia", "nvidia", {"gpu": "yes"}),), ()]


def test_known_runtime_classes_survive_api_server_outage(needs_control_plane: None) -> None:
    said: list[str] = []

    def say(level: str, event: str, /, **fields: Any) -> None:
        said.append(event)

    async def watch(control: ControlPlaneOnly) -> None:
        api = await connect(str(control.control.kubeconfigs["admin"]))
        classes = RuntimeClasses(api, lambda _: None, say)
        task = asyncio.create_task(classes.run())
        async with asyncio.timeout(PATIENCE):
            await _thread(lambda: wait_for("the classes", lambda: classes.known is not None))
            await _thread(control.control.processes["api-server"].stop)
            await _thread(lambda: wait_for("the loss", lambda: "runtime classes cannot be read" in said))
        assert classes.known == ()
        task.cancel()
        await asyncio.wait([task])
        await api.close()

    with control_plane(place=Loopback) as control:
        asyncio.run(watch(control))


async def _thread(what: Callable[[], object]) -> None:
    waiting: Awaitable[object] = asyncio.to_thread(what)
    await waiting
