"""What weakens or widens limits is exported, and logged once per change: unknown nodes, and DeviceClasses."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.pki.virtual import virtual
from tests.server.lines import PipedLog
from webhook.policy.placement.cluster_objects import DeviceClass, Node
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Resource, Settings
from webhook.runtime.retry import delay, monotonic
from webhook.server.live_config import LiveConfig
from webhook.server.log import EventLog
from webhook.server.metrics import Metrics
from webhook.settings.configuration import Configuration

GPU = "nvidia.com/gpu"
DISCOVERED = {"nvidia.com/gpu.sharing-strategy": "none"}
SERVING = (DeviceClass("gpu.nvidia.com", GPU),)


def node(name: str, **labels: str) -> Node:
    return Node(name, labels, (), {GPU: 4})


@dataclass(frozen=True, slots=True)
class Running:
    """The settings and facts in force, with what they export and log."""

    live: LiveConfig
    metrics: Metrics
    piped: PipedLog

    def exported(self, name: str) -> float:
        families = text_string_to_metric_families(self.metrics.text().decode())
        return next(one.samples[0].value for one in families if one.name == f"gpushare_webhook_{name}")

    def logged(self) -> list[dict[str, Any]]:
        """The lines about doubts until now, without their time."""
        lines = self.piped.lines
        mark = len(lines.so_far())
        self.piped.log.event("info", "so far", mark=mark)
        lines.event("so far", mark=mark)
        found = [json.loads(line) for line in lines.so_far()]
        return [{key: line[key] for key in line.keys() - {"time"}} for line in found if line["event"] != "so far"]


@pytest.fixture
def running() -> Iterator[Running]:
    piped, metrics = PipedLog("info"), Metrics()
    yield Running(LiveConfig(Configuration(), Facts(), piped.log, metrics), metrics, piped)
    piped.end()


async def test_nodes_of_unknown_class_are_named_once_per_change(running: Running) -> None:
    apply = running.live.apply_cluster_facts
    await apply({"nodes": (node("known", **DISCOVERED), node("lost"))})
    await apply({"nodes": (node("known", **DISCOVERED), node("lost", zone="a"))})
    assert running.exported("unknown_nodes") == 1
    assert [(line["event"], line["names"], line["count"]) for line in running.logged()] == [
        ("nodes of unknown class", ["lost"], 1)
    ]
    beyond = replace(node("full", **DISCOVERED), incomplete=("taints",))
    await apply({"nodes": (beyond, *(node(f"lost-{number:02}") for number in range(30)))})
    assert running.exported("unknown_nodes") == 31
    last = running.logged()[-1]
    assert (last["level"], last["count"]) == ("warning", 31)
    assert last["names"] == ["full", *(f"lost-{number:02}" for number in range(19))]
    await apply({"nodes": (node("known", **DISCOVERED),)})
    assert running.exported("unknown_nodes") == 0
    assert running.logged()[-1] == {"level": "info", "event": "no node of unknown class is left"}


@virtual
async def test_nodes_that_come_and_go_are_named_once_in_ten_minutes(running: Running) -> None:
    """A kubelet that removes a label and writes it again, as often as it may; the metric stays exact."""
    clear, lost, both = node("a", **DISCOVERED), node("a"), (node("a"), node("b"))
    began = monotonic()
    while monotonic() - began < 599:
        await running.live.apply_cluster_facts({"nodes": (lost,)})
        assert running.exported("unknown_nodes") == 1
        await running.live.apply_cluster_facts({"nodes": (clear,)})
        assert running.exported("unknown_nodes") == 0
        await delay(20)
    assert [line.get("names") for line in running.logged()] == [["a"], None]
    await running.live.apply_cluster_facts({"nodes": both})
    assert running.logged()[-1]["names"] == ["a", "b"]
    await delay(600)
    await running.live.apply_cluster_facts({"nodes": (lost,)})
    assert running.logged()[-1]["names"] == ["a"]


async def test_shared_resource_of_device_class_is_named_once_per_change(running: Running) -> None:
    apply = running.live.apply_cluster_facts
    await apply({"device_classes": (*SERVING, DeviceClass("other", "example.com/npu"))})
    await apply({"device_classes": SERVING})
    assert running.exported("device_class_resources") == 1
    (line,) = running.logged()
    assert (line["event"], line["resources"]) == ("a DeviceClass serves shared resources", [GPU])
    assert line["limits"] == "warn, unless the pod requires nodes that share"
    await apply({"nodes": (node("known", **DISCOVERED),)})
    assert running.logged()[-1]["limits"] == "deny where a known node shares"
    await apply({"device_classes": ()})
    assert running.exported("device_class_resources") == 0
    assert running.logged()[-1] == {"level": "info", "event": "no DeviceClass serves a shared resource any more"}


async def test_device_class_of_whole_cards_is_not_named(running: Running) -> None:
    await running.live.apply_settings(Configuration(settings=Settings(resources=(Resource(GPU, "whole"),))))
    await running.live.apply_cluster_facts({"device_classes": SERVING})
    assert running.exported("device_class_resources") == 0
    assert running.logged() == []


async def test_facts_file_is_observed_at_start() -> None:
    metrics = Metrics()
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123, ASYNC230
        log = EventLog("json", "info", nowhere.fileno())
        LiveConfig(Configuration(), Facts((node("lost"),), device_classes=SERVING), log, metrics)
        log.close()
    text = metrics.text().decode()
    assert "gpushare_webhook_unknown_nodes 1.0" in text
    assert "gpushare_webhook_device_class_resources 1.0" in text
