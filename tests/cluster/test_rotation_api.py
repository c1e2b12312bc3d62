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
from webhook.cluster.client import Client, connect
from webhook.cluster.live_facts import LiveFacts
from webhook.policy.placement.cluster_objects import RuntimeClass
from webhook.policy.placement.node_bounds import ALWAYS
from webhook.policy.settings.settings import FactsSettings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

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


PATH = "/apis/node.k8s.io/v1/runtimeclasses"
RUNTIME_CLASSES = FactsSettings(runtime_classes=True)


class Followed:
    """RuntimeClasses that a client follows, with each state that was published and each event that was logged."""

    def __init__(self, api: Client) -> None:
        self.states: list[tuple[RuntimeClass, ...]] = []
        self.logged: list[str] = []
        facts = LiveFacts(api, RUNTIME_CLASSES, ALWAYS, self._publish, self._log)
        self._tasks = [asyncio.ensure_future(run()) for _, run in facts.tasks()]

    async def until(self, what: str, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            await asyncio.to_thread(wait_for, what, holds)

    async def stop(self) -> None:
        assert not any(task.done() for task in self._tasks)
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    async def _publish(self, fields: Mapping[str, Any]) -> None:
        self.states.append(fields["runtime_classes"])

    def _log(self, _level: str, event: str, /, **_fields: Any) -> None:
        self.logged.append(event)


def test_runtime_classes_are_watched_with_rights_of_chart(running: ControlPlaneOnly) -> None:
    kubeconfig = install(running)
    scheduling = {"nodeSelector": {"gpu": "yes"}}
    nvidia = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}

    async def watch() -> list[tuple[RuntimeClass, ...]]:
        api = await connect(str(kubeconfig))
        followed = Followed(api)
        await followed.until("no classes", lambda: followed.states == [()])
        await _thread(lambda: running.api.create(PATH, {**nvidia, "handler": "nvidia", "scheduling": scheduling}))
        await followed.until("one class", lambda: len(followed.states) == 2)
        await _thread(lambda: running.api.patch(f"{PATH}/nvidia", {"metadata": {"labels": {"a": "b"}}}))
        await _thread(lambda: running.api.delete(f"{PATH}/nvidia"))
        await followed.until("the deletion", lambda: len(followed.states) == 3)
        await followed.stop()
        await api.close()
        return followed.states

    assert asyncio.run(watch()) == [(), (RuntimeClass("nvidia", "nvidia", {"gpu": "yes"}),), ()]


def test_known_runtime_classes_survive_api_server_outage(needs_control_plane: None) -> None:
    async def watch(control: ControlPlaneOnly) -> list[tuple[RuntimeClass, ...]]:
        api = await connect(str(control.control.kubeconfigs["admin"]))
        followed = Followed(api)
        await followed.until("the classes", lambda: followed.states)
        await _thread(control.control.processes["api-server"].stop)
        await followed.until("the loss", lambda: "runtime classes cannot be read" in followed.logged)
        await followed.stop()
        await api.close()
        return followed.states

    with control_plane(place=Loopback) as control:
        assert asyncio.run(watch(control)) == [()]


async def _thread(what: Callable[[], object]) -> None:
    waiting: Awaitable[object] = asyncio.to_thread(what)
    await waiting
