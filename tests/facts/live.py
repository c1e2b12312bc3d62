"""LiveFacts over a fake cluster, running in virtual time, with all that they published and logged."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

from tests.facts.fake_cluster import FakeCluster, Object
from tests.pki.fake_api import wait
from webhook.cluster.facts import LiveFacts, LiveSource
from webhook.policy.placement.node_bounds import ALWAYS, Decisive
from webhook.policy.settings.settings import FactsSettings


class Live:
    """Running facts. `published` has each snapshot, with the time at which it was published.

    They run until the loop of their test ends, which cancels them; a fixture checks that no task has ended before.
    """

    started: ClassVar[list[Live]] = []

    def __init__(self, cluster: FakeCluster, wanted: FactsSettings, decisive: Decisive = ALWAYS) -> None:
        self.published: list[tuple[float, Mapping[str, Any]]] = []
        self.logged: list[tuple[str, str, dict[str, Any]]] = []
        self.in_force: dict[str, Any] = {}
        self.facts = LiveFacts(cluster, wanted, decisive, self.publish, self.log)
        self.started.append(self)
        self.tasks = [asyncio.ensure_future(run()) for _, run in self.facts.tasks()]

    async def publish(self, fields: Mapping[str, Any]) -> None:
        self.published.append((asyncio.get_running_loop().time(), fields))
        self.in_force |= fields

    def log(self, level: str, event: str, /, **fields: Any) -> None:
        self.logged.append((level, event, fields))

    def events(self, *levels: str) -> list[str]:
        """The events that were logged at these levels, or at any."""
        return [event for level, event, _ in self.logged if not levels or level in levels]

    def errors(self, event: str) -> list[str]:
        """The errors of one event."""
        return [fields["error"] for _, what, fields in self.logged if what == event]

    def problems(self) -> list[str]:
        return [fields["problem"] for _, what, fields in self.logged if what == "facts incomplete"]

    def source(self, name: str) -> LiveSource:
        return next(source for source in self.facts.sources if source.part.name == name)

    async def stop(self) -> None:
        """End before the loop does."""
        assert not any(task.done() for task in self.tasks)
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)


async def following(wanted: FactsSettings, *objects: tuple[str, str, Object]) -> tuple[FakeCluster, Live]:
    """A cluster with objects, each with its collection and name, and its facts two seconds after their start."""
    cluster = FakeCluster()
    for path, name, found in objects:
        cluster.put(path, name, found)
    live = Live(cluster, wanted)
    await wait(2)
    return cluster, live
