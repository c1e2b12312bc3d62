"""Settings and facts in force: built in steps while the server answers, one at a time, and the newest wins."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.server.lines import PipedLog
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.cluster_objects import Namespace, Node, RuntimeClass
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import FactsSettings, Resource, Settings
from webhook.policy.steps import Steps
from webhook.runtime.retry import next_turn
from webhook.server.live_config import LiveConfig
from webhook.server.log import EventLog
from webhook.server.metrics import Metrics
from webhook.settings.configuration import Configuration

NODES = tuple(Node(f"n{number:04}", {"zone": f"z{number % 7}"}, (), {"nvidia.com/gpu": 4}) for number in range(2000))
TEAM = (Namespace("team"),)
WARN = Configuration(settings=Settings(mode="warn"))


@pytest.fixture
def log() -> Iterator[EventLog]:
    with Path(os.devnull).open("wb") as nowhere:
        log = EventLog("json", "debug", nowhere.fileno())
        yield log
        log.close()


@pytest.fixture
def live(log: EventLog) -> LiveConfig:
    return LiveConfig(Configuration(), Facts(namespaces=TEAM), log, Metrics())


def facts(live: LiveConfig) -> Facts:
    return live.evaluator.snapshot.facts


async def test_other_tasks_run_while_evaluator_is_built(live: LiveConfig) -> None:
    before, turns = live.evaluator, 0
    building = asyncio.ensure_future(live.apply_cluster_facts({"nodes": NODES}))
    while not building.done():
        assert live.evaluator is before
        turns += 1
        await next_turn()
    assert turns > 20
    assert facts(live).nodes == NODES


async def test_concurrent_changes_are_all_in_force(live: LiveConfig) -> None:
    await asyncio.gather(
        live.apply_cluster_facts({"nodes": NODES}),
        live.apply_settings(WARN),
        live.apply_facts_file(Facts(runtime_classes=())),
    )
    assert (facts(live).nodes, facts(live).runtime_classes) == (NODES, ())
    assert live.evaluator.snapshot.settings.mode == "warn"


async def test_newest_facts_win(live: LiveConfig) -> None:
    await asyncio.gather(*(live.apply_cluster_facts({"nodes": NODES[:count]}) for count in (2000, 1000, 1)))
    assert facts(live).nodes == NODES[:1]


async def test_changes_that_wait_are_built_once(live: LiveConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    running, built = 0, 0
    original = Evaluator.building

    def counted(settings: Settings, known: Facts) -> Steps[Evaluator]:
        nonlocal running, built
        running, built = running + 1, built + 1
        assert running == 1
        evaluator = yield from original(settings, known)
        running -= 1
        return evaluator

    monkeypatch.setattr(Evaluator, "building", counted)
    # The build of this many nodes pauses, so that the other changes come meanwhile.
    await asyncio.gather(*(live.apply_cluster_facts({"nodes": NODES[: 1000 + count]}) for count in range(1, 20)))
    assert built == 2
    assert len(facts(live).nodes or ()) == 1019


async def test_failed_build_keeps_evaluator_and_next_one_succeeds(
    live: LiveConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_settings: Settings, _known: Facts) -> Steps[Evaluator]:
        yield
        raise LookupError("on purpose")

    before = live.evaluator
    with monkeypatch.context() as broken:
        broken.setattr(Evaluator, "building", failing)
        with pytest.raises(LookupError):
            await live.apply_cluster_facts({"nodes": NODES})
        with pytest.raises(LookupError):
            await live.apply_settings(WARN)
    assert live.evaluator is before
    await live.apply_settings(WARN)
    assert live.evaluator.snapshot.settings.mode == "warn"
    assert facts(live).nodes == NODES


@pytest.mark.parametrize(("nodes", "logged"), [(True, 1), (False, 0)])
async def test_new_resource_of_another_vendor_is_logged(nodes: bool, logged: int) -> None:
    """The nodes that were read before are those with resources that were configured before."""
    piped = PipedLog()
    started = Settings(facts=FactsSettings(nodes=nodes))
    live = LiveConfig(Configuration(settings=started), Facts(), piped.log, Metrics())
    names = ("nvidia.com/gpu", "nvidia.com/new", "example.com/gpu")
    await live.apply_settings(
        Configuration(settings=replace(started, resources=tuple(Resource(name) for name in names)))
    )
    assert [event["resources"] for event in piped.end()] == [["example.com/gpu"]] * logged


async def test_cluster_facts_override_facts_file_while_known(live: LiveConfig) -> None:
    await live.apply_cluster_facts({"namespaces": ()})
    assert facts(live).namespaces == ()
    await live.apply_cluster_facts({"namespaces": None, "runtime_classes": (RuntimeClass("nvidia"),)})
    assert facts(live).namespaces == TEAM
    assert facts(live).runtime_classes == (RuntimeClass("nvidia"),)
