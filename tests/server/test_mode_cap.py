"""The cap on the mode in a running server: in force at once, kept when it is unknown, and seen everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.server.lines import PipedLog
from webhook.policy.placement.cluster_objects import Namespace
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.server.live_config import LiveConfig
from webhook.server.metrics import Metrics
from webhook.settings.configuration import Configuration


@dataclass(slots=True)
class Watched:
    """A `LiveConfig`, with its metrics and its log."""

    live: LiveConfig
    metrics: Metrics
    piped: PipedLog

    def caps(self) -> dict[str, float]:
        """The exported cap of each mode."""
        samples = next(iter(self.metrics.mode_cap.collect())).samples
        return {sample.labels["mode"]: sample.value for sample in samples}

    def logged(self) -> list[tuple[str, dict[str, Any]]]:
        """All events with their own fields."""
        return [
            (one.pop("event"), {key: one[key] for key in one if key not in ("time", "level")})
            for one in self.piped.end()
        ]


@pytest.fixture
def watched() -> Watched:
    piped, metrics = PipedLog(), Metrics()
    return Watched(LiveConfig(Configuration(), Facts(), piped.log, metrics), metrics, piped)


def test_cap_is_exported_logged_and_lifted(watched: Watched) -> None:
    assert watched.caps() == {"off": 0, "audit": 0, "warn": 0}
    for mode in ("warn", "warn", "off"):
        watched.live.cap_mode(mode)
    assert watched.caps() == {"off": 1, "audit": 0, "warn": 0}
    assert watched.live.evaluator.snapshot.cap == "off"
    assert watched.live.describe("settings").endswith(", generation 1, mode capped to off")
    watched.live.cap_mode(None)
    assert watched.live.describe("settings").endswith(", generation 1")
    assert watched.logged() == [
        ("mode capped", {"cap": "warn", "before": "enforce"}),
        ("mode capped", {"cap": "off", "before": "warn"}),
        ("mode no longer capped", {"before": "off"}),
    ]


@pytest.mark.parametrize("unknown", ["", "Off", "off ", "disabled", "\x1b[31m\n"])
def test_unknown_mode_keeps_cap_and_is_logged_once(watched: Watched, unknown: str) -> None:
    watched.live.cap_mode("warn")
    for _ in range(3):
        watched.live.cap_mode(unknown)
    assert watched.live.evaluator.snapshot.cap == "warn"
    watched.live.cap_mode("warn")
    watched.live.cap_mode(unknown)
    events = watched.logged()
    assert [event for event, _ in events] == ["mode capped", *["unknown mode cap ignored"] * 2]
    assert events[1][1]["allowed"] == "off, audit, warn"
    assert str(events[1][1]["mode"]).isprintable()


def test_enforce_caps_nothing(watched: Watched) -> None:
    watched.live.cap_mode("off")
    watched.live.cap_mode("enforce")
    assert watched.live.evaluator.snapshot.cap == "enforce"
    assert watched.caps() == {"off": 0, "audit": 0, "warn": 0}


async def test_cap_stays_in_force_over_new_settings_and_facts(watched: Watched) -> None:
    watched.live.cap_mode("off")
    first = watched.live.describe("settings"), watched.live.describe("facts")
    await watched.live.apply_settings(Configuration(settings=Settings(deny_in_mutate=False)))
    await watched.live.apply_cluster_facts({"namespaces": (Namespace("team"),)})
    assert watched.live.evaluator.snapshot.cap == "off"
    assert watched.live.evaluator.snapshot.settings.deny_in_mutate is False
    second = watched.live.describe("settings"), watched.live.describe("facts")
    assert [said.partition(", ")[2] for said in second] == ["generation 2, mode capped to off", "generation 2"]
    assert [said[:12] for said in first] != [said[:12] for said in second]


async def test_equal_facts_are_the_same_generation(watched: Watched) -> None:
    for _ in range(3):
        await watched.live.apply_cluster_facts({"namespaces": (Namespace("team"),)})
    assert watched.live.describe("facts").endswith(", generation 2")
