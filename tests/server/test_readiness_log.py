"""The log of readiness: a line every minute while a replica is not ready, and one when it is ready again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from tests.pki.fake_api import wait
from tests.pki.virtual import virtual
from tests.server.lines import PipedLog
from webhook.server.lifecycle import Lifecycle, Phase, log_readiness

pytestmark = virtual


@dataclass
class Replica:
    """What a replica waits for, and whether it stops."""

    missing: set[str] = field(default_factory=set)
    lifecycle: Lifecycle = field(default_factory=Lifecycle)

    def conditions(self) -> dict[str, bool]:
        return {name: name not in self.missing for name in ("listening", "not stopping", "certificate trusted")}


class Logged:
    """The log of a replica whose readiness is watched."""

    def __init__(self, replica: Replica) -> None:
        self._piped = PipedLog("info")
        self.task = asyncio.ensure_future(log_readiness(replica.conditions, replica.lifecycle, self._piped.log.event))

    def events(self) -> list[tuple[str, Any]]:
        """The events with their reasons."""
        self.task.cancel()
        return [(one["event"], one.get("reasons")) for one in self._piped.end()]


async def test_reasons_are_logged_each_minute_until_ready() -> None:
    replica = Replica({"listening", "certificate trusted"})
    logged = Logged(replica)
    await wait(80)
    replica.missing = {"certificate trusted"}
    await wait(60)
    replica.missing = set()
    await wait(300)
    assert logged.events() == [
        ("not ready", ["listening", "certificate trusted"]),
        ("not ready", ["listening", "certificate trusted"]),
        ("not ready", ["certificate trusted"]),
        ("ready", None),
    ]


async def test_short_start_and_short_interruptions_are_not_logged() -> None:
    replica = Replica({"listening"})
    logged = Logged(replica)
    for _ in range(10):
        await wait(9)
        replica.missing = set()
        await wait(2)
        replica.missing = {"certificate trusted"}
    assert logged.events() == []


async def test_stopping_replica_is_not_logged() -> None:
    replica = Replica()
    logged = Logged(replica)
    await wait(5)
    replica.missing = {"not stopping"}
    replica.lifecycle.enter(Phase.DRAINING)
    await wait(300)
    assert logged.task.done()
    assert logged.events() == []
